import { manifestJsonSchema } from '@svc/contract/manifest.shapes.ts';
import { openApiDocument } from '@svc/contract/openapi.ts';
import packageJson from '../package.json' with { type: 'json' };
import { cliMarkdown } from './docs-cli.ts';

export async function generatedDocs(): Promise<Record<string, string>> {
  const baseUrl = 'http://localhost:4400';
  const openApi = openApiDocument({ baseUrl, version: packageJson.version });
  return {
    'docs/generated/openapi.json': `${formatJson(openApi)}\n`,
    'docs/generated/svc.schema.json': `${JSON.stringify(manifestJsonSchema({ baseUrl }), null, 2)}\n`,
    'docs/generated/cli.md': await cliMarkdown(),
  };
}

const lineWidth = 200;

/** JSON with two spaces of indentation; a value that fits on its line stays on one line. */
function formatJson(value: unknown, indent = '', prefixLength = 0): string {
  const line = oneLine(value);
  if (typeof value !== 'object' || value === null) return line;
  if (indent.length + prefixLength + line.length <= lineWidth) return line;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const lines = Array.isArray(value)
    ? value.map((item) => inner + formatJson(item, inner))
    : Object.entries(value)
        .filter(([, part]) => part !== undefined)
        .map(([key, part]) => {
          const prefix = `${JSON.stringify(key)}: `;
          return inner + prefix + formatJson(part, inner, prefix.length);
        });
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

function oneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  const members = Object.entries(value).filter(([, part]) => part !== undefined);
  if (members.length === 0) return '{}';
  return `{ ${members.map(([key, part]) => `${JSON.stringify(key)}: ${oneLine(part)}`).join(', ')} }`;
}
