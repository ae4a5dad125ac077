import { expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { planSource } from '../detect/plan-source.ts';
import { builtInTables, builtInTemplates, writeBuiltIn } from './built-in-templates.ts';

const root = useFolder();

/** A name that breaks every template that does not quote it. */
const name = `Ada's "shop" <b>\\`;
const values = {
  slug: 'shop',
  name,
  base_url: 'https://svc.example.test',
  tenant: 'acme',
  app_url: 'https://shop.apps.example.test/',
  app_id: '01977777-7777-7777-8777-777777777777',
};

async function written(alias: string): Promise<string> {
  const into = mkdtempSync(join(root, `${alias}-`));
  await writeBuiltIn(alias, into, values);
  return into;
}

const textsIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => [file.slice(folder.length), readFileSync(file, 'utf8')] as const);

test.each(builtInTemplates)(
  '$alias is written with its values, quoted where they stand',
  async ({ alias, deploy_method }) => {
    const folder = await written(alias);
    const texts = textsIn(folder);
    expect(texts.filter(([, text]) => /\{\{[a-z_]+\}\}/.test(text)).map(([file]) => file)).toEqual([]);
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name).toBe('shop');
    expect(parse(readFileSync(join(folder, 'svc.yaml'), 'utf8'))).toMatchObject({
      name,
      app: { slug: 'shop' },
    });
    expect(texts.map(([file]) => file)).toContain('/svc-sdk/main.ts');
    expect(texts.map(([file]) => file)).not.toContain('/template.json');
    const { plan } = await planSource(folder, { method: deploy_method });
    expect(plan).toMatchObject({ installCommand: 'npm ci', buildCommand: 'npm run build' });
    expect(deploy_method === 'static' ? plan.outputDir : plan.startCommand).toBe(
      deploy_method === 'static' ? 'dist' : 'npm run start',
    );
  },
);

test('the settings of a template are a module with the values', async () => {
  const folder = await written('react');
  expect((await import(join(folder, 'src/settings.ts'))).settings).toEqual({
    baseUrl: values.base_url,
    tenant: 'acme',
    app: 'shop',
    name,
    appId: values.app_id,
  });
});

test('the included client library has no other dependencies', async () => {
  const folder = await written('astro');
  for (const [file, text] of textsIn(join(folder, 'svc-sdk')))
    for (const [, from = ''] of text.matchAll(/from '([^']+)'/g))
      expect([file, from]).toEqual([file, expect.stringMatching(/^\.\.?\//)]);
  expect(typeof (await import(join(folder, 'svc-sdk/main.ts'))).createClient).toBe('function');
});

test('writing a template twice gives the same bytes', async () => {
  const [one, two] = [await written('nextjs'), await written('nextjs')];
  expect(textsIn(one)).toEqual(textsIn(two));
});

test('each template has a table with rows per user', async () => {
  for (const { alias } of builtInTemplates)
    expect(await builtInTables(alias)).toMatchObject([{ name: 'notes', owner_column: 'author' }]);
});

test('the lock file names no registry URLs', () => {
  for (const { alias } of builtInTemplates) {
    const lock = readFileSync(
      join(import.meta.dir, '../../../../templates', alias, 'package-lock.json'),
      'utf8',
    );
    expect(lock).not.toContain('"resolved"');
  }
});
