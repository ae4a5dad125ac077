import { manifestJsonSchema } from '@svc/contract/manifest.shapes.ts';
import { openApiDocument } from '@svc/contract/openapi.ts';
import packageJson from '../package.json' with { type: 'json' };
import { cliMarkdown } from './docs-cli.ts';

export async function generatedDocs(): Promise<Record<string, string>> {
  const baseUrl = 'http://localhost:4400';
  const openApi = openApiDocument({ baseUrl, version: packageJson.version });
  return {
    'docs/generated/openapi.json': `${JSON.stringify(openApi, null, 2)}\n`,
    'docs/generated/svc.schema.json': `${JSON.stringify(manifestJsonSchema({ baseUrl }), null, 2)}\n`,
    'docs/generated/cli.md': await cliMarkdown(),
  };
}
