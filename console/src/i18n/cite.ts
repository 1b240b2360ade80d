import { dictionary } from "./language";

export const citeTexts = dictionary(
  {
    none: "There is no citation in this address: it ends with the one that an agent gave.",
    current: "The text is there as it was cited.",
    moved: "The text is as it was cited, at another place of its string.",
    changed: "The text has changed since it was cited.",
    changedOnly: "The text has changed since it was cited, and no version that is kept holds what it was.",
    gone: "The string that was cited is not there any more.",
    was: "As it was cited",
    now: "As it is now",
    open: "Open in Documents",
    outside: "Open where it is published",
  },
  {
    none: "此地址中没有引用：地址应以智能体给出的引用结尾。",
    current: "原文与引用时一致。",
    moved: "原文与引用时一致，但在该字符串中的位置已移动。",
    changed: "引用之后，原文已修改。",
    changedOnly: "引用之后，原文已修改；已保留的版本中没有当时的内容。",
    gone: "引用所在的字符串已不存在。",
    was: "引用时的内容",
    now: "当前内容",
    open: "在文档中打开",
    outside: "在发布处打开",
  },
);
