/** The names of the pages, in one place: the navigation, the palette and headings say the same. */
import { dictionary } from "./language";

export const titles = dictionary(
  {
    overview: "Overview",
    search: "Search",
    evaluate: "Evaluate",
    documents: "Documents",
    indexes: "Indexes",
    replace: "Replace",
    agents: "Agents",
    keys: "Keys",
    health: "Health",
    cite: "Citation",
    states: "States",
  },
  {
    overview: "概览",
    search: "搜索",
    evaluate: "评测",
    documents: "文档",
    indexes: "索引",
    replace: "替换",
    agents: "智能体",
    keys: "密钥",
    health: "健康",
    cite: "引用",
    states: "状态",
  },
);
