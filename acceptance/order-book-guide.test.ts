import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guideExamples } from '../scripts/guide-examples.ts';
import { type Ran, run, svcFor } from './support/commands.ts';
import { bearer, caller, newTenant } from './support/people.ts';
import { root, temporaryFolder } from './support/server.ts';

const examples = (language: string) => guideExamples('order-book.md', language);

/** Words of a line of shell: quotes, a comment at its end, a file for the output. */
function parseLine(line: string) {
  const words = (line.replace(/ {2,}#.*$/, '').match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((word) =>
    word.replaceAll("'", ''),
  );
  const at = words.indexOf('>');
  return { args: words.slice(1, at < 0 ? undefined : at), output: at < 0 ? null : words[at + 1]! };
}

test('every command and line of code of the guide works, in its order', async () => {
  const tenant = await newTenant();
  const { server, member } = tenant;
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'svc.yaml'), examples('yaml')[0]!);
  const svc = svcFor(server, { token: member.token, tenant: tenant.slug });
  const runLine = async (line: string, order = ''): Promise<Ran> => {
    const { args, output } = parseLine(line.replace('ORDER', order));
    const ran = await svc(args, { cwd: folder });
    expect([line, ran.code, ran.code === 0 ? '' : ran.stdout + ran.stderr]).toEqual([line, 0, '']);
    if (output) writeFileSync(join(folder, output), ran.stdout);
    return ran;
  };
  const blocks = examples('sh').map((block) => block.trim().split('\n'));
  for (const line of blocks.slice(0, 3).flat()) await runLine(line);

  // The app's own token is of a running deployment; a personal one reaches the same rows.
  const pat = await member.call('POST', `${tenant.base}/pats`, { name: 'guide', actions: ['read', 'write'] });
  const { baseUrl } = server;
  const settings = { baseUrl, tenant: tenant.slug, app: 'order-book', auth: { apiKey: pat.body.secret } };
  const code = examples('ts')
    .join('')
    .replace("'@svc/sdk'", JSON.stringify(join(root, 'sdk/src/main.ts')))
    .replace('createClient<Database>()', `createClient<Database>(${JSON.stringify(settings)})`);
  writeFileSync(join(folder, 'use.ts'), `${code}\nexport { book, first, found, items, months, open };\n`);
  const tsconfig = {
    extends: join(root, 'tsconfig.json'),
    include: [folder],
    compilerOptions: { typeRoots: [join(root, 'node_modules/@types')], types: ['bun'] },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const [used, checked] = await Promise.all([
    import(join(folder, 'use.ts')),
    run([join(root, 'node_modules/.bin/tsc'), '--noEmit', '-p', folder]),
  ]);
  expect(checked.stdout).toBe('');
  const wheels = { item: 'Wheels', quantity: 4, amount: '99.90' };
  expect(used.book.map(({ customer }: { customer: { name: string } }) => customer.name)).toEqual([
    'Max Born',
    'Ada Lovelace',
    'Ada Lovelace',
  ]);
  expect(used.book[2].lines).toEqual([{ item: 'Cards', quantity: 100, amount: '12.50' }, wheels]);
  expect(used.months).toEqual([
    { month: '2026-10-01', orders: 1 },
    { month: '2026-11-01', orders: 2 },
  ]);
  expect(used.items[0]).toEqual({ item: 'Wheels', total: '99.90' });
  expect(used.found.map(({ name }: { name: string }) => name)).toEqual(['Ada Lovelace']);
  expect(used.open.rows.length).toBe(2);

  const rows = caller(server, bearer(member), `/data/${tenant.slug}/order-book`);
  const lines = await rows('GET', `/lines?order=eq.${used.first.id}&sort=item&select=item,quantity,amount`);
  expect(lines.body.data[1]).toEqual(wheels);
  for (const line of blocks.slice(3).flat()) {
    const { stdout } = await runLine(line, used.first.id);
    if (line.includes('rows history')) expect(stdout).toContain('delete');
    if (line.includes('--search')) expect(stdout).toContain('Ada Lovelace');
  }
  expect((await rows('GET', `/orders/${used.first.id}`)).body.state).toBe('paid');
});
