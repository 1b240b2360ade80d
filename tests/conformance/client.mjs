// What the official TypeScript clients see of an endpoint, as one JSON object on stdout:
//   node client.mjs v1|v2 legacy|auto|2026-07-28 URL KEY TOOL QUERY
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [sdk, mode, url, key, name, query] = process.argv.slice(2);
const identity = { name: 'conformance', version: '1' };
const address = new URL(url);
const options = { requestInit: { headers: { Authorization: `Bearer ${key}` } } };
const versionNegotiation = { mode: mode.startsWith('20') ? { pin: mode } : mode };

const v1 = () => [new Client(identity), new StreamableHTTPClientTransport(address, options)];
const [client, transport] =
  sdk === 'v1'
    ? v1()
    : [
        new v2.Client(identity, { versionNegotiation }),
        new v2.StreamableHTTPClientTransport(address, options),
      ];

await client.connect(transport);
const { tools } = await client.listTools();
const found = await client.callTool({ name, arguments: { query, top_k: 2 } });
const refused = await client.callTool({ name, arguments: { query, top_k: 21 } });
const unknown = await client.callTool({ name: 'nope', arguments: {} }).catch((error) => error.code);
const version = transport.protocolVersion ?? client.getNegotiatedProtocolVersion();
const server = client.getServerVersion();
console.log(JSON.stringify({ version, server, tools, found, refused, unknown }));
await client.close();
