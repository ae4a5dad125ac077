import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import type { RuntimeWorld } from './conformance-testing.ts';
import { type Bench, openBench, type SampleApp, type SampleInstance } from './testing.ts';

/** `serve(port, address, text)` is an HTTP server; `GET /more` listens on PORT too, `GET /end` ends the app. */
const app = `const http = require('node:http'), net = require('node:net'), { env } = require('node:process');
const serve = (port, address, text = 'at ' + port) => http.createServer((request, response) => {
  if (request.url === '/more') serve(env.PORT, '0.0.0.0', 'at PORT');
  if (request.url === '/end') process.exit(1);
  response.end(text);
}).listen(port, address);
`;
const sentence = /^The app listens on port (\d+), not on PORT \((\d+)\): requests go there\.$/;

/** An app that ignores PORT is found where it listens. */
export function portsConformance(
  name: string,
  makeWorld: () => Promise<RuntimeWorld>,
  options: {
    /** An address at which requests to PORT need no help. */
    direct?: string;
    hasIpv6?: boolean;
  } = {},
): void {
  const { direct = '127.0.0.1', hasIpv6 = true } = options;
  describe.concurrent(`${name}: the port of an app`, () => {
    let world: RuntimeWorld;
    let bench: Bench;
    beforeAll(async () => {
      world = await makeWorld();
      bench = openBench(world, await world.open());
    });
    afterAll(async () => {
      await bench?.runtime.close();
      await world?.close();
    });

    async function start(code: string): Promise<{ app: SampleApp; instance: SampleInstance }> {
      const sample = bench.app('web');
      sample.sample.files['app.js'] = app + code;
      return { app: sample, instance: await sample.start(await sample.build()) };
    }
    const sentences = (of: SampleApp) => of.lines('platform').filter((line) => sentence.test(line));

    async function unreachable(instance: SampleInstance): Promise<string | undefined> {
      const now = await instance.getState();
      return now.state === 'running' ? now.unreachable : now.state;
    }

    async function answering(instance: SampleInstance, text: string): Promise<string> {
      let address = '';
      await bench.until(async () => {
        const now = await instance.getState();
        address = (now.state === 'running' && now.address) || '';
        const response = await fetch(`http://${address}/`).catch(() => null);
        return (await response?.text()) === text;
      });
      return address;
    }

    const constant: [address: string, port: number][] = [
      ['0.0.0.0', 3000],
      ['127.0.0.1', 3000],
      ['localhost', 9000],
      ['::', 80],
    ];
    if (hasIpv6) constant.push(['::1', 3000]);

    test.each(constant)('may be a constant one: %s port %d; the log names it once', async (address, port) => {
      const { app, instance } = await start(`serve(${port}, '${address}');`);
      const found = await answering(instance, `at ${port}`);
      const listed = (await bench.runtime.list()).find(({ instanceId }) => instanceId === instance.id);
      expect([listed?.address, await unreachable(instance)]).toEqual([found, undefined]);
      await bench.until(() => sentences(app).length > 0);
      expect(sentences(app)).toEqual([expect.stringContaining(`on port ${port}, not`)]);
      await instance.stop();
      expect(await bench.isSilent(found)).toBe(true);
      expect(forwarders(found)).toEqual([]);
    });

    // The app opens PORT within a time.
    test.serial('is PORT if the app listens there, whatever else it opens before', async () => {
      const { app, instance } = await start(
        `serve(9229, '127.0.0.1', 'debug'); serve(3000, '0.0.0.0'); setTimeout(() => serve(env.PORT, '${direct}', 'at PORT'), 200);`,
      );
      expect(await answering(instance, 'at PORT')).toBe(instance.address);
      expect(sentences(app)).toEqual([]);
      await instance.stop();
    });

    test('is PORT again as soon as the app listens there', async () => {
      const { app, instance } = await start(`serve(9090, '0.0.0.0');`);
      const found = await answering(instance, 'at 9090');
      expect(found).not.toBe(instance.address);
      await bench.answer(found, '/more');
      expect(await answering(instance, 'at PORT')).toBe(instance.address);
      await bench.until(() => app.lines('platform').some((line) => line.includes('now listens on PORT')));
      await instance.stop();
    });

    test('is the lowest one that answers HTTP requests, if there are several', async () => {
      const { app, instance } = await start(
        `net.createServer((socket) => socket.write('220 mail')).listen(4000); net.createServer().listen(4001); serve(5000, '127.0.0.1'); serve(6000, '0.0.0.0');`,
      );
      await answering(instance, 'at 5000');
      await bench.until(() => sentences(app).length > 0);
      expect(sentences(app)).toEqual([expect.stringContaining('on port 5000, not')]);
      await instance.stop();
    });

    test('is found again after the app has ended and was started again', async () => {
      const { app, instance } = await start(`serve(3000, '127.0.0.1');`);
      const found = await answering(instance, 'at 3000');
      await fetch(`http://${found}/end`).catch(() => {});
      await bench.until(async () => {
        const now = await instance.getState();
        return now.state === 'running' && now.restarts > 0;
      });
      await answering(instance, 'at 3000');
      await bench.until(() => sentences(app).length === 2);
      await instance.stop();
    });

    test('is reported as missing while the app listens nowhere', async () => {
      const { instance } = await start('setInterval(() => {}, 1000);');
      await bench.until(async () =>
        /not listen on any port\. Listen on PORT \(\d+\)/.test((await unreachable(instance)) ?? ''),
      );
      await instance.stop();
    });

    test('is reported with its address if it cannot be reached there', async () => {
      const { instance } = await start(`serve(3000, '127.0.0.2'); serve(env.PORT, '127.0.0.3');`);
      await bench.until(async () => (await unreachable(instance))?.includes('127.0.0.2:3000') === true);
      expect(await unreachable(instance)).toMatch(/127\.0\.0\.2:3000.*127\.0\.0\.3:\d+/);
      await instance.stop();
    });

    test('carries connections that stay open, streams and WebSockets', async () => {
      const { instance } = await start(`const server = http.createServer((request, response) => {
          if (request.url !== '/stream') return response.end(String(request.socket.remotePort));
          response.write('first\\n');
          request.on('data', (piece) => response.write(piece)).on('end', () => response.end());
        }).listen(3000, '127.0.0.1');
        server.on('upgrade', (request, socket) => {
          const key = require('node:crypto').createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
          socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + key + '\\r\\n\\r\\n');
          socket.write(Buffer.from([0x81, 2, 104, 105]));
        });`);
      let address = '';
      await bench.until(async () => {
        const now = await instance.getState();
        address = (now.state === 'running' && now.address) || '';
        return address !== instance.address && (await fetch(`http://${address}/`).catch(() => null)) !== null;
      });
      const port = async () => (await fetch(`http://${address}/`)).text();
      expect(await port()).toBe(await port());
      const pieces = new TransformStream<Uint8Array, Uint8Array>();
      const writer = pieces.writable.getWriter();
      const response = await fetch(`http://${address}/stream`, { method: 'POST', body: pieces.readable });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader?.read())?.value).toBe('first\n');
      void writer.write(new TextEncoder().encode('second\n'));
      expect((await reader?.read())?.value).toBe('second\n');
      await writer.close();
      const message = await new Promise((resolve) => {
        const socket = new WebSocket(`ws://${address}/`);
        socket.onmessage = ({ data }) => resolve(data);
        socket.onclose = () => resolve('closed');
      });
      expect(message).toBe('hi');
      await instance.stop();
    });
  });
}

/** Processes that carry connections from the address. */
function forwarders(address: string): string[] {
  const port = `/${address.split(':').at(-1)}:`;
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(port);
    } catch {
      return false;
    }
  });
}
