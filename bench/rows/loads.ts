import { categories, item, rowCount } from './dataset.ts';
import type { Load } from './run-wrk.ts';

export interface Loads {
  point: Load;
  list: Load;
  insert: Load;
}

export function serverLoads(options: {
  port: number;
  pat: string;
  /** In place of the personal access token: of somebody who came through an app. */
  visitor?: string | undefined;
  reads: string;
  inserts: string;
}): Loads {
  const { visitor, pat } = options;
  const credential = visitor === undefined ? `X-Api-Key: ${pat}` : `Authorization: Bearer ${visitor}`;
  const head = `Host: 127.0.0.1:${options.port}\\r\\n${credential}\\r\\n`;
  const { port } = options;
  return {
    point: { name: 'svc-point', port, script: pointScript(`${options.reads}/`, head) },
    list: {
      name: 'svc-list',
      port,
      script: listScript(`${options.reads}?category=eq.`, '&sort=-created_at&per_page=20', head),
    },
    insert: { name: 'svc-insert', port, script: insertScript(options.inserts, head, (name) => name) },
  };
}

export function platformaticLoads(port: number): Loads {
  const head = `Host: 127.0.0.1:${port}\\r\\n`;
  const order = '&orderby.createdAt=desc&orderby.id=desc&limit=20';
  return {
    point: { name: 'peer-point', port, script: pointScript('/items/', head) },
    list: { name: 'peer-list', port, script: listScript('/items?where.category.eq=', order, head) },
    insert: { name: 'peer-insert', port, script: insertScript('/inserts', head, camelCase) },
  };
}

const random = 'math.randomseed(42)\nlocal random, format = math.random, string.format\n';

const pointScript = (path: string, head: string) => `${random}
local before = "GET ${path}00000000-0000-0000-0000-"
local after = " HTTP/1.1\\r\\n${head}\\r\\n"
request = function() return before .. format("%012x", random(1, ${rowCount})) .. after end
`;

const listScript = (before: string, after: string, head: string) => `${random}
local before = "GET ${before}"
local after = "${after} HTTP/1.1\\r\\n${head}\\r\\n"
request = function() return before .. random(0, ${categories - 1}) .. after end
`;

function insertScript(path: string, head: string, renameColumn: (name: string) => string): string {
  const { id: _, category: __, ...rest } = item(1);
  const body = JSON.stringify(
    Object.fromEntries(Object.entries(rest).map(([name, value]) => [renameColumn(name), value])),
  );
  return `${random}
local body = [[,${body.slice(1)}]]
local before = "POST ${path} HTTP/1.1\\r\\n${head}Content-Type: application/json\\r\\nContent-Length: "
request = function()
  local sent = format('{"category":%d', random(0, ${categories - 1})) .. body
  return before .. #sent .. "\\r\\n\\r\\n" .. sent
end
`;
}

export const camelCase = (name: string) =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
