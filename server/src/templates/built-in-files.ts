import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTable } from '@svc/contract/tables.shapes.ts';
import { z } from 'zod';
import type { TemplateValues } from './template-source.ts';

const root = join(import.meta.dir, '..', '..', '..');
const templatesDirectory = join(root, 'templates');
const sdkDirectory = join(root, 'sdk', 'src');
const contractDirectory = join(root, 'contract', 'src');
/** Says what of a template is to be filled in; not part of what an app begins with. */
const descriptionName = 'template.json';

const Description = z.strictObject({
  /** Files that several templates have, and where each goes. */
  shared: z.record(z.string(), z.string()),
  /** Files in which values are put in. */
  render: z.array(z.string()),
  /** The folder that gets the client library. */
  sdk: z.string(),
  /** Made with the app. */
  tables: z.array(createTable.body),
});
export type TemplateTable = z.output<typeof createTable.body>;

export async function builtInTables(alias: string): Promise<TemplateTable[]> {
  return (await describe(alias)).tables;
}

/** The same bytes for the same values, so that a second try gives the same commit. */
export async function writeBuiltIn(alias: string, into: string, values: TemplateValues): Promise<void> {
  const { shared, render, sdk } = await describe(alias);
  const from = join(templatesDirectory, alias);
  await cp(from, into, {
    recursive: true,
    filter: (path) => !/[\\/](?:node_modules|dist|\.next|\.astro)(?:[\\/]|$)/.test(path.slice(from.length)),
  });
  await rm(join(into, descriptionName));
  for (const [name, place] of Object.entries(shared))
    await cp(join(templatesDirectory, 'shared', name), join(into, place));
  for (const name of render) {
    const file = join(into, name);
    // What comes with the platform may be read-only.
    await chmod(file, 0o644);
    await writeFile(file, filledIn(name, await readFile(file, 'utf8'), values));
  }
  await writeSdk(join(into, sdk));
}

async function describe(alias: string): Promise<z.output<typeof Description>> {
  return Description.parse(
    JSON.parse(await readFile(join(templatesDirectory, alias, descriptionName), 'utf8')),
  );
}

/** Values stand between double quotes, or in the text of a page. */
function filledIn(name: string, text: string, values: TemplateValues): string {
  const escaped = /\.(?:html|md)$/.test(name) ? escapedForPage : escapedForQuotes;
  return text.replace(/\{\{([a-z_]+)\}\}/g, (_, key: string) => {
    const value = (values as unknown as Record<string, string | undefined>)[key];
    if (value === undefined) throw new Error(`${name} has a place for ${key}, which there is no value for.`);
    return escaped(value);
  });
}

const escapedForQuotes = (value: string) => JSON.stringify(value).slice(1, -1);
const escapedForPage = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** As source: whoever gets it can read it, and every bundler takes it. It is in no registry. */
async function writeSdk(into: string): Promise<void> {
  await mkdir(join(into, 'contract'), { recursive: true });
  const types = new Set<string>();
  const take = async (from: string, name: string, to: string) => {
    const text = await readFile(join(from, name), 'utf8');
    for (const [, file] of text.matchAll(/'@svc\/contract\/([\w.-]+\.ts)'/g)) if (file) types.add(file);
    await writeFile(join(into, to), text.replaceAll("'@svc/contract/", "'./contract/"));
  };
  const names = [...new Bun.Glob('*.ts').scanSync({ cwd: sdkDirectory })].sort();
  for (const name of names) if (!/(?:\.test|testing)\.ts$/.test(name)) await take(sdkDirectory, name, name);
  for (const name of types) {
    const text = await readFile(join(contractDirectory, name), 'utf8');
    for (const [, file] of text.matchAll(/from '\.\/([\w.-]+\.ts)'/g)) if (file) types.add(file);
    await writeFile(join(into, 'contract', name), text);
  }
}
