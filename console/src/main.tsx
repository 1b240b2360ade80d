import { render } from "preact";
import { Frame } from "./frame";

render(<Frame />, document.getElementById("app")!);
