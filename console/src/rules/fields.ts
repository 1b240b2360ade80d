/** What the API says of a field, by its form, in Chinese; `$1` is what stands in it. */
const OF_FIELDS: readonly (readonly [RegExp, string])[] = [
  [/^Field required$/, "必填"],
  [/^Extra inputs are not permitted$/, "没有此字段"],
  [/^Input should be a valid integer/, "应为整数"],
  [/^Input should be a valid number/, "应为数字"],
  [/^Input should be a finite number$/, "应为有限的数字"],
  [/^Input should be a valid string/, "应为文本"],
  [/^Input should be a valid boolean/, "应为 true 或 false"],
  [/^Input should be a valid (?:list|array)/, "应为数组"],
  [/^Input should be (?:a valid dictionary|an object)/, "应为对象"],
  [/^Input should be greater than or equal to (\S+)$/, "不得小于 $1"],
  [/^Input should be greater than (\S+)$/, "应大于 $1"],
  [/^Input should be less than or equal to (\S+)$/, "不得大于 $1"],
  [/^Input should be less than (\S+)$/, "应小于 $1"],
  [/^String should have at least (\d+) characters?$/, "至少 $1 个字符"],
  [/^String should have at most (\d+) characters?$/, "至多 $1 个字符"],
  [/^List should have at least (\d+) items? .*$/, "至少 $1 项"],
  [/^List should have at most (\d+) items? .*$/, "至多 $1 项"],
  [/^String should match pattern (.+)$/s, "格式应符合 $1"],
  [/^Input should be ('.+)$/, "只能是 $1"],
  [/^Input should not be null/, "不得为 null；可以省略"],
  [/^Input should be true or false$/, "应为 true 或 false"],
  [/^Input should be a decimal integer/, "应为十进制整数"],
  [/^(.+) is a control or invisible character$/, "$1 是控制字符或不可见字符"],
  [/^chunk_overlap must be at most half of chunk_size$/, "chunk_overlap 至多为 chunk_size 的一半"],
  [/^vector_weight and bm25_weight must not both be 0$/, "vector_weight 和 bm25_weight 不能同时为 0"],
  [/^agents_may_filter needs fields that filterable names$/, "agents_may_filter 需要 filterable 中列出的字段"],
];

/** The same in Chinese; null where it has none of these forms. */
export function fieldInChinese(message: string): string | null {
  for (const [form, told] of OF_FIELDS) {
    const match = form.exec(message);
    if (match) return told.replace("$1", match[1]?.replace(" or ", "、") ?? "");
  }
  return null;
}
