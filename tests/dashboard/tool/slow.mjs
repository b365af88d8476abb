// What a normal reader feels while others misbehave. A bench, not a test: it prints, it judges nothing.
// Usage: node slow.mjs http://127.0.0.1:PORT [slow clients, default 500] [seconds, default 10]
// Slow clients send one byte of a header per second, never finish, and come back when they are cut.
import http from 'node:http';
import net from 'node:net';

const [address, count = '500', seconds = '10'] = process.argv.slice(2);
const url = new URL(address);
const end = Date.now() + Number(seconds) * 1000;
let cut = 0;

function crawl() {
  if (Date.now() > end) return;
  const socket = net.connect(Number(url.port), url.hostname);
  const text = `GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ${'a'.repeat(4000)}`;
  let sent = 0;
  const timer = setInterval(() => socket.write(text[(sent += 1)]), 1000);
  socket.on('error', () => {});
  socket.on('close', () => {
    clearInterval(timer);
    cut += 1;
    setTimeout(crawl, 50);
  });
}

function ask(path) {
  return new Promise((resolve) => {
    const begin = process.hrtime.bigint();
    http
      .get(address + path, { agent: false }, (response) => {
        response.resume();
        response.on('end', () => resolve(Number(process.hrtime.bigint() - begin) / 1e6));
      })
      .on('error', () => resolve(Number.NaN));
  });
}

async function reader(name, path) {
  const times = [];
  let errors = 0;
  while (Date.now() < end) {
    const ms = await ask(path);
    if (Number.isFinite(ms)) times.push(ms);
    else errors += 1;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  times.sort((x, y) => x - y);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  console.log(
    `${name.padEnd(10)} ${times.length} answers  p50 ${at(0.5).toFixed(1)} ms  p95 ${at(0.95).toFixed(1)} ms  p99 ${at(0.99).toFixed(1)} ms  errors ${errors}`,
  );
}

for (let i = 0; i < Number(count); i += 1) crawl();
await new Promise((resolve) => {
  setTimeout(resolve, 1000);
});
await Promise.all([
  reader('health', '/healthz'),
  reader('shell', '/'),
  reader('overview', '/index.json'),
]);
console.log(`${count} slow clients, cut off ${cut} times`);
process.exit(0);
