import { dictionary } from "./language";

export const signInTexts = dictionary(
  {
    title: "Sign in",
    key: "Project key",
    enter: "Sign in",
    busy: "Signing in…",
    offered: (project: string) => `Sign in to the project ${project}?`,
    offeredText: "This address was made with a key of that project. What you upload goes there. Refuse if you did not ask for the address.",
    refuse: "Do not sign in",
    about:
      "A key that may manage makes one for this session: eight hours, half an hour without a touch, or until you sign out. Yours is forgotten.",
    local: "Or open this page from a terminal, signed in:",
    signedOut: "You are signed out. The session's key is revoked.",
    idle: "Signed out: nothing was touched for half an hour.",
    expired: "The session has ended. Sign in to go on where you were.",
    used: "Used or over five minutes old; make serve prints a new address.",
  },
  {
    title: "登录",
    key: "项目密钥",
    enter: "登录",
    busy: "正在登录…",
    offered: (project) => `登录项目 ${project}？`,
    offeredText: "此地址由该项目的密钥生成，您上传的内容将进入该项目。如果不是您要求的地址，请拒绝。",
    refuse: "不登录",
    about:
      "具有 manage 权限的密钥会为本次会话生成专用密钥：八小时、半小时无操作或退出登录时失效。您的密钥不会保留。",
    local: "也可以在终端中打开并自动登录：",
    signedOut: "您已退出登录，会话密钥已撤销。",
    idle: "半小时无操作，已自动退出。",
    expired: "会话已结束。请重新登录后继续。",
    used: "地址已用过或已过期；make serve 会显示新地址。",
  },
);
