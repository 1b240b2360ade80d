import { dictionary } from "./language";

export const signInTexts = dictionary(
  {
    title: "Sign in",
    key: "Project key",
    enter: "Sign in",
    busy: "Signing in…",
    about:
      "A key with the scope manage makes a key of its own for this session, which ends after eight hours, after half an hour without a touch, or when you sign out. Yours is forgotten at once. A key that may only search opens a smaller console.",
    local: "Of a stack on this machine, this prints the key:",
    signedOut: "You are signed out. The session's key is revoked.",
    idle: "Signed out: nothing was touched for half an hour.",
    expired: "The session has ended, or its key was revoked. Sign in to go on where you were.",
  },
  {
    title: "登录",
    key: "项目密钥",
    enter: "登录",
    busy: "正在登录…",
    about:
      "具有 manage 权限的密钥会为本次会话生成一个专用密钥：八小时后、半小时无操作后或退出登录时失效。您输入的密钥不会保留。只能搜索的密钥会打开精简的控制台。",
    local: "在本机运行时，可用以下命令显示密钥：",
    signedOut: "您已退出登录，会话密钥已撤销。",
    idle: "半小时无操作，已自动退出。",
    expired: "会话已结束，或密钥已被撤销。请重新登录后继续。",
  },
);
