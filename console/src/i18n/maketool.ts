import { codeText } from "./common";
import { dictionary, num, plural } from "./language";

export const makeToolTexts = dictionary(
  {
    title: "Make a Search Tool",
    scope: "Scope: a place in the document, empty for all of it",
    name: "Name, by which agents call it",
    description: "Description, by which agents choose it",
    threshold: "Index strings from so many characters on",
    size: "Characters of a chunk",
    overlap: "Overlap",
    counted: (fit: number, all: number) => `${num(fit)} of ${plural(all, "string")} there would be indexed.`,
    notCounted: "The document is large: its strings are not counted beforehand.",
    make: "Make",
    made: "The Search Tool is there",
    no_long_strings: (longest: number) => `No string there is long enough: the longest has ${num(longest)} characters.`,
    lower: (to: number) => `Make it again from ${num(to)} characters on`,
  },
  {
    title: "创建搜索工具",
    scope: "范围：文档中的位置，留空为整个文档",
    name: "名称（智能体用它调用）",
    description: "说明（智能体据此选择）",
    threshold: "只收录不少于这么多字的文本",
    size: "分块字符数",
    overlap: "重叠",
    counted: (fit, all) => `该处 ${num(all)} 个字符串中将收录 ${num(fit)} 个。`,
    notCounted: "文档较大，事先不统计字符串数。",
    make: "创建",
    made: "搜索工具已创建",
    no_long_strings: (longest) => `没有足够长的字符串，最长为 ${num(longest)} 个字符。`,
    lower: (to) => `改为从 ${num(to)} 个字符起重新创建`,
  },
);

/** Why a tool has indexed nothing, by the hint of its index. */
export function hintText(hint: "scope_missing" | "nothing_indexed" | "no_long_strings", longest: number): string {
  return hint === "no_long_strings" ? makeToolTexts().no_long_strings(longest) : codeText(hint);
}
