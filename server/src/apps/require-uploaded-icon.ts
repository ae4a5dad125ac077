import { validationError } from '../core/problem.ts';

/** Browsers load icons: an external icon would reveal to its host who opens which app. */
export function requireUploadedIcon(
  platform: { baseUrl: string } | null,
  icons: Readonly<Record<string, string | null | undefined>>,
): void {
  for (const [field, url] of Object.entries(icons)) {
    if (!url || platform === null || url.startsWith(`${new URL(platform.baseUrl).origin}/icons/`)) continue;
    throw validationError(field, 'must be the URL of an icon that was uploaded here');
  }
}
