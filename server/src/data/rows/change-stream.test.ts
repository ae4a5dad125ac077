import { describe, expect, test } from 'bun:test';
import { fixedKey } from '../../core/keys.ts';
import type { AppRows } from '../../drivers/row-database/row-pool.ts';
import { createChangeStream } from './change-stream.ts';
import { createFeedPositions } from './feed-changes.ts';
import { testTable } from './testing.ts';

const positions = createFeedPositions(fixedKey('key'));
const table = testTable();
const plan = { table, output: table.all, where: [], idKey: 'id', binding: 'bound' };
const at = (from: string, takenAt = 1_000) => ({ from, to: null, seq: null, takenAt });

function open(
  options: { lastEventId?: string; now?: [snapshot: string, takenAt: string]; isCurrent?: boolean } = {},
) {
  const rowDb = { run: async () => ({ rows: [options.now ?? ['10:20:', '1000']] }) } as unknown as AppRows;
  const stream = createChangeStream({
    plan,
    rowDb,
    positions,
    isSnapshot: false,
    lastEventId: options.lastEventId ?? null,
    heartbeatMs: 5,
    isCurrent: async () => options.isCurrent ?? true,
    onSent: () => {},
  });
  stream.start();
  return stream;
}

async function readUntil(readable: ReadableStream<Uint8Array>, part: string): Promise<string> {
  let text = '';
  for await (const chunk of readable) {
    text += Buffer.from(chunk).toString();
    if (text.includes(part)) break;
  }
  return text;
}

describe('a stream of changes', () => {
  test('has heartbeats with the position that it has reached', async () => {
    const stream = open();
    stream.advance({ text: '10:25:', takenAt: 1_001 }, '10:20:');
    const text = await readUntil(stream.readable, ': heartbeat\nid: ');
    expect(text).toStartWith('event: ready\nid: ');
    const id = /: heartbeat\nid: (\S+)/.exec(`${text}\n`)?.[1] ?? '';
    expect(positions.read(id, 'bound', 1_000)?.from).toMatch(/^10:2[05]:$/);
  });

  test('is reset after 24 hours, and where the database is older than the position', async () => {
    const lastEventId = positions.write(at('10:20:'), 'bound');
    const first = (now: [string, string]) => readUntil(open({ lastEventId, now }).readable, '\n\n');
    const day = 24 * 3600;
    expect(await first(['10:20:', String(1_000 + day)])).toStartWith(': resumed');
    expect(await first(['10:20:', String(1_001 + day)])).toStartWith('event: reset');
    expect(await first(['5:8:', '1001'])).toStartWith('event: reset');
  });

  test('ends when the caller no longer sees what they saw', async () => {
    const stream = open({ isCurrent: false });
    let hasLeft = false;
    stream.onEnd(() => {
      hasLeft = true;
    });
    await stream.started;
    await stream.checkAccess();
    expect(hasLeft).toBe(true);
    // An orderly end: the client resumes and is refused.
    expect(await new Response(stream.readable).text()).not.toContain('heartbeat');
  });
});
