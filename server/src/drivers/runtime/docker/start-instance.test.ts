import { expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellWords, toContainerUrls } from './start-instance.ts';

test('loopback addresses of platform variables point to the machine', () => {
  const inside = 'host.docker.internal';
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(
      toContainerUrls({
        DATABASE_URL: `postgres://u:p%40@${host}:5432/db?sslmode=disable`,
        SVC_USER_KEYS_URL: `http://${host}:8080/.well-known/svc-user-keys.json`,
        SVC_BASE_URL: `http://${host}:8080`,
        SVC_APP: host,
      }),
    ).toEqual({
      DATABASE_URL: `postgres://u:p%40@${inside}:5432/db?sslmode=disable`,
      SVC_USER_KEYS_URL: `http://${inside}:8080/.well-known/svc-user-keys.json`,
      SVC_BASE_URL: `http://${host}:8080`,
      SVC_APP: host,
    });
  for (const DATABASE_URL of ['postgres://u:p@db:5432/localhost', 'postgres://localhost:p@db/x'])
    expect(toContainerUrls({ DATABASE_URL })).toEqual({ DATABASE_URL });
});

test('a command finds the programs of installed packages by name, and keeps its own words', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-words-'));
  try {
    mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true });
    const program = join(folder, 'node_modules', '.bin', 'greet');
    writeFileSync(program, '#!/bin/sh\necho "hello $1"\n');
    chmodSync(program, 0o755);
    const { stdout } = Bun.spawnSync(shellWords(`greet 'a "b" $PATHS' && echo "$0"`), { cwd: folder });
    expect(stdout.toString()).toBe('hello a "b" $PATHS\n/bin/sh\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
