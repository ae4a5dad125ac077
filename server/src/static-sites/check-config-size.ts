import { type SiteConfig, siteConfigBytesMax } from '@svc/contract/site-config.ts';
import { invalid } from '../plumbing/problem.ts';

export function checkConfigSize(config: SiteConfig, field: string): void {
  if (Buffer.byteLength(JSON.stringify(config)) > siteConfigBytesMax)
    throw invalid(field, `must be at most ${siteConfigBytesMax} bytes as JSON`);
}
