import { svcFor } from './commands.ts';
import { done, newApp, type Tenant } from './people.ts';
import { folderOf } from './server.ts';
import { askSite, siteOf, visitorCookie } from './sites.ts';

const serverJs =
  "require('node:http').createServer((request, response) => response.end('lunch')).listen(process.env.PORT)";

/** An app that answers with rows of its table. */
export const rowsServerSource = (query: string) => `
const { SVC_API_URL, SVC_TENANT, SVC_APP, SVC_APP_TOKEN, PORT } = process.env;
const url = SVC_API_URL + '/data/' + SVC_TENANT + '/' + SVC_APP + '/' + ${JSON.stringify(query)};
require('node:http').createServer(async (request, response) => {
  const answer = await fetch(url, { headers: { authorization: 'Bearer ' + SVC_APP_TOKEN } });
  response.statusCode = answer.ok ? 200 : 500;
  response.end(answer.ok ? JSON.stringify((await answer.json()).data) : await answer.text());
}).listen(PORT);`;

export interface Deployed {
  id: string;
  state: string;
  failure: { code: string; step: string; detail: string } | null;
}

export async function newRunningApp(tenant: Tenant) {
  const { member: owner, server } = tenant;
  const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
  const svc = svcFor(server, { token: owner.token, tenant: tenant.slug });
  return {
    app,
    owner,
    svc,
    deploy: async (manifest: string, { program = serverJs, flags = [] as string[] } = {}) => {
      const folder = folderOf({ 'svc.yaml': `start: node server.js\n${manifest}`, 'server.js': program });
      const line = ['deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json', ...flags];
      const ran = await svc(line);
      return { ...ran, json: () => ran.json<Deployed>() };
    },
    /** What the running app answers to its owner. */
    ask: async () => {
      const site = siteOf(tenant, app);
      const cookie = await visitorCookie(site, owner);
      const { status, text } = await askSite(site, '/', { headers: { cookie, accept: 'text/html' } });
      return [status, text];
    },
    schema: async () => (await done(owner.call('GET', `${app.base}/schema`))).tables,
    drift: async () => done(owner.call('GET', `${app.base}/schema/drift`)),
    rows: async (table: string) =>
      (await done(owner.call('GET', `/data/${tenant.slug}/${app.slug}/${table}`))).data,
  };
}

export const tablesBefore =
  'tables: { menu: { columns: [dish:text, price:int] }, old: { columns: [x:int] } }\n';
export const tablesAfter = `tables:
  dishes:
    was: menu
    columns: [{ name: title, type: text, was: dish }, 'vegan:bool:false', 'notes:text[]:nullable']
    indexes: [title:unique]
    access: read-write
  orders: { columns: ['amount:decimal(12,2)'] }
`;
