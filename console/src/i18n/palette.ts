import { dictionary } from "./language";

export const paletteTexts = dictionary(
  {
    page: "page",
    table: "table",
    tool: "tool",
    pointer: "pointer in",
    nothing: "Nothing has this name",
  },
  {
    page: "页面",
    table: "表",
    tool: "工具",
    pointer: "位置，表",
    nothing: "没有此名称",
  },
);
