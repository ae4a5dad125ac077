import { openApiDocument } from '@svc/contract/openapi.ts';
import packageJson from '../package.json' with { type: 'json' };
import { cliMarkdown } from './docs-cli.ts';

export async function generatedDocs(): Promise<Record<string, string>> {
  const openApi = openApiDocument({ baseUrl: 'http://localhost:4400', version: packageJson.version });
  return {
    'docs/generated/openapi.json': `${JSON.stringify(openApi, null, 2)}\n`,
    'docs/generated/cli.md': await cliMarkdown(),
  };
}
