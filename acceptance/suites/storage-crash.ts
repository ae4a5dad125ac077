import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openServerDatabase } from '../support/database.ts';
import { type RowsWorld, rowsWorld, Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';

import { until } from '../support/until.ts';

export function storageCrash({ killsCount }: { killsCount: number }): void {
  const clientsCount = 6;
  const keysCount = 8;
  const pieceBytes = 64 * 1024;
  const octets = { 'content-type': 'application/octet-stream' };

  interface Sent {
    key: string;
    sha256: string;
    size: number;
  }

  test('kill -9 in the middle of uploads shows none of them by half, loses none that was acknowledged, and leaves no bytes behind', async () => {
    let server = await startEmbedded();
    const ground = await rowsWorld(server);
    const storage = `${ground.tenant.base}/apps/${ground.app.id}/storage`;
    expect((await ground.owner.call('POST', `${storage}/enable`)).status).toBe(200);

    const sent = new Map<string, Sent>();
    /** By key, in the order in which the server acknowledged them. */
    const acknowledged = new Map<string, Sent>();
    /** Started after the last acknowledged write: any of these may be stored. */
    const since = new Map<string, Set<string>>();
    const statuses = new Tally();
    let [over, yes] = [false, 0];

    const client = async (at: number) => {
      for (let turn = 0; !over; turn++) {
        const key = `c${at}/k${turn % (keysCount / 4)}`;
        const upload = bodyOf(`${at}-${turn}`);
        try {
          const signed = await ground.owner.call('POST', `${storage}/upload-url`, { key });
          if (signed.status !== 200) continue;
          sent.set(upload.sha256, { ...upload, key });
          if (!since.has(key)) since.set(key, new Set());
          since.get(key)!.add(upload.sha256);
          const answer = await fetch(signed.body.put_url, {
            method: 'PUT',
            headers: octets,
            body: upload.stream(),
          });
          statuses.add(answer.status);
          if (answer.status >= 300) continue;
          acknowledged.set(key, { ...upload, key });
          since.set(key, new Set([upload.sha256]));
          yes += 1;
        } catch {
          // The server is down at this moment.
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const clients = Array.from({ length: clientsCount }, (_, at) => client(at));

    for (let kill = 0; kill < killsCount; kill++) {
      const before = yes;
      const uploads = join(server.dataDir, 'objects', 'uploads');
      await until(
        'some have ended, and some are under way',
        async () => yes > before + 3 && filesIn(uploads).length > 0,
        30_000,
      );
      server.signal('SIGKILL');
      await server.exited;
      server = await startEmbedded({ dataDir: server.dataDir, port: server.port });
    }
    const last = yes;
    await until('the last server takes uploads', async () => yes > last, 30_000);
    over = true;
    await Promise.all(clients);

    // Every object is complete and was sent; every acknowledged one, or a later one, is stored.
    const { body } = await ground.owner.call('GET', `${storage}/objects?limit=1000`);
    const shown = body.items as Sent[];
    expect(shown.map(({ key }) => key)).toEqual(expect.arrayContaining([...acknowledged.keys()]));
    for (const { key, sha256, size } of shown) {
      expect([key, sent.get(sha256)?.key, sent.get(sha256)?.size]).toEqual([key, key, size]);
      expect([key, since.get(key)?.has(sha256)]).toEqual([key, true]);
      const { url } = (await ground.owner.call('GET', `${storage}/url?key=${encodeURIComponent(key)}`)).body;
      const bytes = await (await fetch(url)).bytes();
      expect([key, createHash('sha256').update(bytes).digest('hex')]).toEqual([key, sha256]);
    }
    const status = await ground.owner.call('GET', storage);
    expect([status.body.objects, status.body.bytes]).toEqual([
      shown.length,
      shown.reduce((sum, { size }) => sum + size, 0),
    ]);

    await leavesNothing(server, ground);
    await server.stop();
  });

  /** A day later, after the cleanup job. */
  async function leavesNothing(server: RunningServer, { app }: RowsWorld): Promise<void> {
    const database = openServerDatabase(server);
    const [open] = await database.query('select count(*)::int as count from svc.storage_uploads');
    expect(open?.count).toBeGreaterThan(0);
    await database.query("update svc.storage_uploads set started_at = now() - interval '25 hours'");
    await database.query(
      `insert into pgboss.job (name, data) select name, data from pgboss.schedule where key = 'storage.forgetUploads'`,
    );
    await until(
      'the store holds what is shown and nothing else',
      async () => {
        const rows = await database.query(
          'select blob_id::text as id from svc.storage_objects where app_id = $1',
          [app.id],
        );
        const wanted = rows.map(({ id }) => String(id)).sort();
        const found = filesIn(join(server.dataDir, 'objects', 'keys')).sort();
        const [left] = await database.query('select count(*)::int as count from svc.storage_uploads');
        return left?.count === 0 && JSON.stringify(found) === JSON.stringify(wanted);
      },
      60_000,
    );
    expect(filesIn(join(server.dataDir, 'objects', 'uploads'))).toEqual([]);
    await database.close();
  }

  /** Names of the store's files. */
  function filesIn(folder: string): string[] {
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  }

  /** Sent in pieces, so that a kill comes in the middle; identified by its content. */
  function bodyOf(seed: string): { sha256: string; size: number; stream(): ReadableStream<Uint8Array> } {
    const pieces = 2 + (Bun.hash.crc32(seed) % 12);
    const piece = (at: number) => Buffer.alloc(pieceBytes, `${seed}/${at};`);
    const sum = createHash('sha256');
    for (let at = 0; at < pieces; at++) sum.update(piece(at));
    const stream = () => {
      let at = 0;
      return new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (at >= pieces) return controller.close();
          await new Promise((resolve) => setTimeout(resolve, 3));
          controller.enqueue(piece(at++));
        },
      });
    };
    return { sha256: sum.digest('hex'), size: pieces * pieceBytes, stream };
  }
}
