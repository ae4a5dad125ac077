import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTable } from '@svc/contract/tables.shapes.ts';
import type { Template } from '@svc/contract/templates.shapes.ts';
import { z } from 'zod';
import { projectRoot } from '../../core/project-root.ts';
import type { TemplateValues } from './templates.ts';

/** Ids never change: runs and apps refer to them. */
const builtIns = [
  {
    id: '019a8000-0000-7000-8000-000000000003',
    alias: 'astro',
    name: 'Astro site',
    description: 'A static site with a page that signs in and reads a table',
    framework: 'astro',
    deploy_method: 'static',
  },
  {
    id: '019a8000-0000-7000-8000-000000000002',
    alias: 'nextjs',
    name: 'Next.js app',
    description: 'Pages rendered on the server, with sign-in and a table',
    framework: 'nextjs',
    deploy_method: 'docker',
  },
  {
    id: '019a8000-0000-7000-8000-000000000001',
    alias: 'react',
    name: 'React app',
    description: 'A page with sign-in and a table, built with Vite',
    framework: 'react',
    deploy_method: 'static',
  },
] as const;
export const builtInTemplates: readonly (z.output<typeof Template> & { alias: string })[] = builtIns.map(
  (template) => ({ ...template, built_in: true, repo: null, ref: null }),
);

const templatesDirectory = join(projectRoot, 'templates');
const sdkDirectory = join(projectRoot, 'sdk', 'src');
const contractDirectory = join(projectRoot, 'contract', 'src');
const descriptionName = 'template.json';

const Description = z.strictObject({
  shared: z.record(z.string(), z.string()),
  render: z.array(z.string()),
  sdk: z.string(),
  tables: z.array(createTable.body),
});
export type TemplateTable = z.output<typeof createTable.body>;

export async function builtInTables(alias: string): Promise<TemplateTable[]> {
  return (await readDescription(alias)).tables;
}

/** Deterministic, so that a retry creates the same commit. */
export async function writeBuiltIn(alias: string, into: string, values: TemplateValues): Promise<void> {
  const { shared, render, sdk } = await readDescription(alias);
  const from = join(templatesDirectory, alias);
  await cp(from, into, {
    recursive: true,
    filter: (path) => !/[\\/](?:node_modules|dist|\.next|\.astro)(?:[\\/]|$)/.test(path.slice(from.length)),
  });
  await rm(join(into, descriptionName));
  for (const [name, target] of Object.entries(shared))
    await cp(join(templatesDirectory, 'shared', name), join(into, target));
  for (const name of render) {
    const file = join(into, name);
    // Installed files may be read-only.
    await chmod(file, 0o644);
    await writeFile(file, fillIn(name, await readFile(file, 'utf8'), values));
  }
  await writeSdk(join(into, sdk));
}

async function readDescription(alias: string): Promise<z.output<typeof Description>> {
  return Description.parse(
    JSON.parse(await readFile(join(templatesDirectory, alias, descriptionName), 'utf8')),
  );
}

/** Placeholders are inside double quotes or in the text of a page. */
function fillIn(name: string, text: string, values: TemplateValues): string {
  const escaped = /\.(?:html|md)$/.test(name) ? escapeForPage : escapeForQuotes;
  return text.replace(/\{\{([a-z_]+)\}\}/g, (_, key: string) => {
    const value = (values as unknown as Record<string, string | undefined>)[key];
    if (value === undefined) throw new Error(`${name} has the placeholder ${key}, which has no value.`);
    return escaped(value);
  });
}

const escapeForQuotes = (value: string) => JSON.stringify(value).slice(1, -1);
const escapeForPage = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Copied as source, because the library is in no registry. */
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
