import { afterAll, describe, expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { ProblemError } from '@svc/contract/client.ts';
import fc from 'fast-check';
import { newFolder, removeFolders } from '../../testing/run-svc.ts';
import { CliError } from '../framework/errors.ts';
import { readManifestNames } from './document.ts';
import { readManifest } from './manifest.ts';

afterAll(removeFolders);

async function fileWith(text: string): Promise<string> {
  const path = `${newFolder()}/svc.yaml`;
  await Bun.write(path, text);
  return path;
}

const read = async (text: string) => (await readManifest(await fileWith(text), 'svc.yaml')).manifest;
const readNames = async (text: string) => readManifestNames(await fileWith(text), 'svc.yaml');

async function refusal(reading: Promise<unknown>): Promise<string[]> {
  const error = await reading.catch((cause: unknown) => cause);
  if (!(error instanceof ProblemError)) throw error instanceof Error ? error : new Error('It was taken.');
  expect(error.problem.code).toBe('validation_failed');
  return [
    error.problem.detail,
    ...(error.problem.errors ?? []).slice(1).map((item) => `${item.line} ${item.field}`),
  ];
}

describe('a svc.yaml', () => {
  test('is parsed completely, with every value typed by the schema', async () => {
    const text =
      'name: "Shop"\napp:\n  slug: shop\n  data_scopes: [a, b]\nstorage: { enabled: true }\nhealth: /up\n';
    expect(await read(text)).toEqual({
      name: 'Shop',
      app: { slug: 'shop', data_scopes: ['a', 'b'] },
      storage: { enabled: true },
      health: '/up',
    });
  });

  test('may be empty, contain only comments, start with a byte order mark, and have Windows line endings', async () => {
    for (const text of ['', '# nothing yet\n', '---\n', '\uFEFF{}']) expect(await read(text)).toEqual({});
    expect(await read('\uFEFFname: a\r\ntenant: b\r\n')).toEqual({ name: 'a', tenant: 'b' });
  });

  test('may use anchors', async () => {
    expect(await read('build: &x { command: make }\n')).toEqual({ build: { command: 'make' } });
    expect(await read('name: &n Shop\ntenant: *n\n')).toEqual({ name: 'Shop', tenant: 'Shop' });
  });

  const faults: [string, ...string[]][] = [
    ['name: a\nbiuld: make\n', 'svc.yaml:2:1: unknown key "biuld"; did you mean "build"?'],
    ['app:\n  slgu: a\n', 'svc.yaml:2:3: unknown key "slgu"; did you mean "slug"?'],
    ['quite_another: 1\n', 'svc.yaml:1:1: unknown key "quite_another"'],
    ['app: { slug: ab, x: 1 }\ny: 2\n', 'svc.yaml:1:18: unknown key "x"', '2 y'],
    ['__proto__: 1\n', 'svc.yaml:1:1: unknown key "__proto__"'],
    ['constructor: 1\n', 'svc.yaml:1:1: unknown key "constructor"'],
    ['env: &e { A: b }\napp: *e\n', 'svc.yaml:1:11: unknown key "A"'],
    ['<<: { name: a }\n', 'svc.yaml:1:1: unknown key "<<"'],
    ['- a\n', 'svc.yaml:1:1: must contain keys and values'],
    ['just text\n', 'svc.yaml:1:1: must contain keys and values'],
    ['name: a\nname: b\n', 'svc.yaml:2:1: a key is given twice'],
  ];

  test.each(faults)(
    '%j is rejected with its position, with and without a schema',
    async (text, ...expected) => {
      expect(await refusal(read(text))).toEqual(expected);
      expect(await refusal(readNames(text))).toEqual(expected);
    },
  );

  test.each([
    ['name: a\napp:\n  slug: Not A Slug\n', 'svc.yaml:3:9: app.slug must be 2 to 63 of a-z, 0-9 and -'],
    ['app: shop\n', 'svc.yaml:1:6: app must be an object'],
    ['tenant: 3\n', 'svc.yaml:1:9: tenant must be a text'],
    ['tenant:\n', 'svc.yaml:1:8: tenant must be a text'],
  ])('%j has an invalid name and is rejected with and without a schema', async (text, expected) => {
    for (const reading of [read, readNames]) expect((await refusal(reading(text)))[0]).toStartWith(expected);
  });

  test.each([
    ['deploy:\n  method: wasm\n', 'svc.yaml:2:11: deploy.method must be one of docker, compose, static'],
    ['name: 3\n', 'svc.yaml:1:7: name must be a text'],
    [
      'build: [make]\n',
      'svc.yaml:1:8: build must be a command, false, or an object with install, command and dir',
    ],
    ['env:\n  PORT: 80\n', 'svc.yaml:2:9: env.PORT must be a text; put it in quotes'],
    ['env:\n  A-B: x\n', 'svc.yaml:2:8: env.A-B must be the name of a variable: letters, digits and _'],
    ['app:\n  data_scopes: [a, 3]\n', 'svc.yaml:2:20: app.data_scopes.1 must be a text'],
    ['static:\n  dir: ../x\n', 'svc.yaml:2:8: static.dir must be a path inside the folder'],
    ['storage:\n', 'svc.yaml:1:9: storage must be an object'],
  ])('%j is rejected with the position of the value', async (text, expected) => {
    expect((await refusal(read(text)))[0]).toStartWith(expected);
  });

  test.each([
    'a: [',
    '\tname: a',
    'a: 1\n---\nb: 2\n',
    'name: !secret x\n',
    'name: *nothing\n',
    '{',
    'name: "\\q"',
  ])('%j is not usable YAML', async (text) => {
    expect((await refusal(readNames(text)))[0]).toMatch(/^svc\.yaml:\d+:\d+: \S/);
  });

  test('that is too large, also by its aliases, is rejected', async () => {
    expect((await refusal(read(`# ${'x'.repeat(64 * 1024)}\n`)))[0]).toContain('64 KiB');
    const bomb = [
      'env:',
      '  A: &a [x, x, x, x, x, x, x, x, x, x]',
      ...'BCDEFG'.split('').map((key, at) => {
        const before = `*${'abcdefg'[at]}`;
        return `  ${key}: &${key.toLowerCase()} [${Array(10).fill(before).join(', ')}]`;
      }),
    ].join('\n');
    expect((await refusal(readNames(bomb)))[0]).toContain('svc.yaml:');
  });

  test.each([
    ['a: 1\n---\nb: 2\n', 'contains more than one document'],
    [`a: ${'['.repeat(20_000)}`, 'is nested too deeply'],
    ['name: *nothing\n', 'the alias *nothing stands for nothing before it'],
  ])('%.20s is rejected with a message of its own', async (text, expected) => {
    expect((await refusal(readNames(text)))[0]).toEndWith(expected);
  });

  test.if(process.platform === 'linux')('that is not a regular file is not waited for', async () => {
    const folder = newFolder();
    symlinkSync('/dev/zero', `${folder}/svc.yaml`);
    Bun.spawnSync(['mkfifo', `${folder}/svc.yml`]);
    for (const name of ['svc.yaml', 'svc.yml']) {
      const error = await readManifestNames(`${folder}/${name}`, name).catch((cause) => cause);
      expect([error.code, error.message]).toEqual(['file_unreadable', `${name} is not a regular file.`]);
    }
  });

  test('that cannot be read has another error than one that is invalid', async () => {
    for (const path of ['/no/such/svc.yaml', newFolder()]) {
      const error = await readManifest(path).catch((cause) => cause);
      expect(error).toBeInstanceOf(CliError);
      expect(error.code).toBe('file_unreadable');
    }
  });

  test('is accepted, or rejected with a position, whatever it contains', async () => {
    const key = fc.constantFrom(
      'name',
      'app',
      'slug',
      'build',
      'env',
      'x',
      '<<',
      '- ',
      '? ',
      '"',
      '[',
      '{',
      '#',
      '&a',
      '*a',
      '!t',
    );
    const line = fc.tuple(fc.nat(4), key, fc.constantFrom(': ', ':', ' '), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 6 }), async (lines) => {
        const text = lines
          .map(([indent, name, colon, rest]) => `${' '.repeat(indent)}${name}${colon}${rest}`)
          .join('\n');
        const outcome = await readNames(text).then(
          () => 'taken',
          (cause) => (cause instanceof ProblemError ? cause.problem.detail : `fault: ${cause}`),
        );
        expect(outcome).toMatch(/^taken$|^svc\.yaml:\d+:\d+: \S/);
      }),
      { numRuns: 200 },
    );
  });

  test('gives the position of a value in later errors', async () => {
    const path = await fileWith('name: a\napp:\n  slug: taken\n');
    const { source } = await readManifest(path);
    expect(source.refuse(['app', 'slug'], 'is taken').message).toBe(`${path}:3:9: app.slug is taken`);
    expect(source.refuse(['app', 'category'], 'is not known').message).toBe(
      `${path}:3:3: app.category is not known`,
    );
  });
});

describe('the app that commands default to', () => {
  test.each([
    ['app: { slug: shop }\nname: Other\n', 'shop'],
    ['name: Web Shop\n', 'web-shop'],
    ['name: Crème Brûlée\napp: { summary: x }\n', 'creme-brulee'],
    ['name: 日本\n', null],
    ['tenant: acme\n', null],
  ])('in %j is %s', async (text, app) => {
    expect((await readNames(text)).app).toBe(app as string);
  });
});
