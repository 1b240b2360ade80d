"""E-mail addresses (RFC 5321, 6531): quoted and international ones, and those of a host's number.

The part before the @ is read backwards, so that each run is read once.
"""

from __future__ import annotations

import re

from context_search.domain.text.sensitive.spans import Spans

_LATIN = "A-Za-z0-9\u00c0-\u024f"
# A mark that may also stand around an address belongs to it only behind a letter or digit.
_LOCAL_BACKWARDS = re.compile(
    rf"(?:[{_LATIN}._%+-]|['’&!#$*?^~](?=[{_LATIN}])|=(?=[{_LATIN}.-]{{1,64}}\+))++"
)
_FOREIGN_LOCAL_BACKWARDS = re.compile(r"[\w.%+-]{1,64}")
_QUOTED_BACKWARDS = re.compile(r'"[^"\r\n]{1,64}"')
_CHINESE_ENDS = (
    "中国|中國|公司|网络|網絡|香港|台湾|台灣|新加坡|公益|政务|网址|网店|网站|在线|中文网|集团|商城|商标"
    "|商店|手机|移动|娱乐|餐厅|健康|企业|信息|招聘|购物|时尚|游戏|广东|佛山|机构|组织机构|我爱你|世界|慈善"
)
_NO_FILE = r"(?!(?:png|jpe?g|gif|svg|webp)(?![A-Za-z]))"
_DOMAIN = re.compile(
    rf"@(?:[{_LATIN}-]++(?:\.[{_LATIN}-]++){{0,126}}\.{_NO_FILE}[A-Za-z\u00c0-\u024f]{{2,}}+"
    rf"|[\w-]{{1,63}}+(?:\.[\w-]{{1,63}}+){{0,8}}?\.(?:{_CHINESE_ENDS}|{_NO_FILE}[A-Za-z]{{2,}}+"
    r"|[\u0370-\u1fff\uac00-\ud7af]{2,}+)"
    r"|\[(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|IPv6:[0-9A-Fa-f:.]{2,45})\])"
)


def emails(text: str) -> Spans:
    """Returns the addresses."""
    if "@" not in text:
        return
    backwards = text[::-1]
    for domain in _DOMAIN.finditer(text):
        at = len(text) - domain.start()
        local = (
            _LOCAL_BACKWARDS.match(backwards, at)
            or _FOREIGN_LOCAL_BACKWARDS.match(backwards, at)
            or _QUOTED_BACKWARDS.match(backwards, at)
        )
        if local:
            yield len(text) - local.end(), domain.end()
