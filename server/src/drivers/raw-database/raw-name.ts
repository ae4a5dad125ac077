/** Of a raw database and of its role alike: it says nothing about the app, and no login of ours looks like it. */
export function rawName(id: string): string {
  return `svc_raw_${id.replaceAll('-', '')}`;
}

export function isRawName(text: string): boolean {
  return /^svc_raw_[0-9a-f]{32}$/.test(text);
}
