import { dictionary } from "./language";

export const paletteTexts = dictionary(
  {
    ask: "Ask",
    page: "page",
    table: "table",
    tool: "tool",
    pointer: "pointer in",
    nothing: "Nothing has this name",
  },
  {
    ask: "提问",
    page: "页面",
    table: "表",
    tool: "工具",
    pointer: "位置，表",
    nothing: "没有此名称",
  },
);
