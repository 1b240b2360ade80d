import { render } from "preact";
import { Frame } from "./frame";

// Where nothing takes a dropped file, the page stays all the same.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
render(<Frame />, document.getElementById("app")!);
