// Serves the pages while one works on them, with the headers of the real server, in front of a real server.
// It knows a table of sign-ins (slot → bearer token) and plays the three routes of signing in. It is not part of the product.
//
//   node dev/serve.mjs --server http://127.0.0.1:7420 --port 7480 --link ana=customer:TOKEN:CONVERSATION:Ana --link hana=human:TOKEN::Hana
//
// Then open http://127.0.0.1:7480/chat#link=ana
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'http://127.0.0.1:7420' },
    port: { type: 'string', default: '7480' },
    link: { type: 'string', multiple: true, default: [] },
  },
});
const upstream = new URL(values.server);
const folder = fileURLToPath(new URL('..', import.meta.url));

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };
const PAGES = { '/': 'board.html', '/cockpit': 'cockpit.html', '/chat': 'chat.html' };

/** @type {Map<string, { token: string, who: object }>} */
const signIns = new Map();
/** @type {Map<string, string>} */
const links = new Map();
const slotOf = (token) => createHash('sha256').update(token).digest('hex').slice(0, 16);

for (const link of values.link) {
  const [name, rest] = link.split(/=(.*)/s);
  const [kind, token, conversation, shown] = rest.split(':');
  links.set(name, add(kind, token, { id: name, name: shown || name, conversation_id: conversation || null }));
}

function add(kind, token, about) {
  const slot = slotOf(token);
  const family = kind === 'customer' ? 'customer' : kind === 'operator' ? 'operator' : 'agent';
  const who = { principal: `${family}:${about.id}`, kind, roles: kind === 'operator' ? ['coordinator'] : [], teamspace: 'default', demo: true, ...about };
  signIns.set(slot, { token, who: { ...who, expires_at: new Date(Date.now() + 7 * 86_400_000).toISOString() } });
  return slot;
}

const server = http.createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://here');
  if (pathname.startsWith('/v1/sign-in')) return signIn(pathname, request, response);
  if (/^\/(v1|aaep)\b/.test(pathname)) return proxy(request, response);
  const name = PAGES[pathname] ?? (pathname.startsWith('/pages/') ? pathname.slice(7) : undefined);
  return name === undefined ? answer(response, 404, { status: 404 }) : file(name, response);
});

function file(name, response) {
  const full = path.join(folder, path.normalize(`/${decodeURIComponent(name)}`));
  const type = TYPES[path.extname(full)];
  try {
    if (!type || !statSync(full).isFile()) throw new Error();
  } catch {
    return answer(response, 404, { status: 404 });
  }
  response.writeHead(200, {
    'Content-Type': type, 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin', 'Cache-Control': 'no-store',
  });
  createReadStream(full).pipe(response);
}

async function signIn(pathname, request, response) {
  const slot = request.headers['tasuki-page'] ?? '';
  if (pathname === '/v1/sign-in') return who(slot, response);
  if (pathname === '/v1/sign-ins/end') {
    signIns.delete(slot);
    return answer(response, 200, {});
  }
  let text = '';
  for await (const piece of request) text += piece;
  const body = JSON.parse(text || '{}');
  const known = body.link ? links.get(body.link) : await byToken(body.token);
  if (!known || !signIns.has(known)) return answer(response, 401, { status: 401, code: 'unauthenticated', detail: 'this link or token is not valid' });
  return answer(response, 201, { slot: known, ...signIns.get(known)?.who });
}

/** The real server knows who a token is; here the table and two reads stand in for it. */
async function byToken(token) {
  if (signIns.has(slotOf(token))) return slotOf(token);
  const headers = { Authorization: `Bearer ${token}` };
  const status = (await fetch(new URL('/v1/teamspace', upstream), { headers })).status;
  return status === 200 ? add('operator', token, { id: 'operator', name: 'Operator', conversation_id: null }) : undefined;
}

function who(slot, response) {
  const found = signIns.get(slot);
  return found ? answer(response, 200, found.who) : answer(response, 401, { status: 401, code: 'unauthenticated' });
}

function answer(response, status, body) {
  response.writeHead(status, { 'Content-Type': status < 400 ? 'application/json' : 'application/problem+json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify(body));
}

function proxy(request, response) {
  const headers = { ...request.headers, host: upstream.host };
  for (const name of ['cookie', 'origin', 'referer', 'connection']) delete headers[name];
  const found = signIns.get(String(headers['tasuki-page'] ?? ''));
  if (found) headers.authorization = `Bearer ${found.token}`;
  const passed = http.request(new URL(request.url ?? '/', upstream), { method: request.method, headers }, (from) => {
    response.writeHead(from.statusCode ?? 502, from.headers);
    from.pipe(response);
  });
  passed.on('error', () => (response.headersSent ? response.destroy() : answer(response, 502, { status: 502, code: 'unreachable' })));
  response.on('close', () => passed.destroy());
  request.pipe(passed);
}

server.on('upgrade', (request, client, head) => {
  const offered = String(request.headers['sec-websocket-protocol'] ?? '').split(/,\s*/);
  const slot = offered.find((one) => one.startsWith('page.'))?.slice(5) ?? '';
  const found = signIns.get(slot);
  const protocols = offered.filter((one) => !one.startsWith('page.'));
  if (found) protocols.push(`bearer.${found.token}`);
  const headers = { ...request.headers, host: upstream.host, 'sec-websocket-protocol': protocols.join(', ') };
  delete headers.origin;
  delete headers.cookie;
  const there = net.connect(Number(upstream.port || 80), upstream.hostname, () => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    there.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    there.write(head);
    there.pipe(client);
    client.pipe(there);
  });
  there.on('error', () => client.destroy());
  client.on('error', () => there.destroy());
});

server.listen(Number(values.port), '127.0.0.1', () => {
  const at = `http://127.0.0.1:${values.port}`;
  process.stdout.write(`Pages at ${at}\n${[...links.keys()].map((name) => `  ${at}/chat#link=${name}\n`).join('')}`);
});
