export function isDeviceCode(text: string): boolean {
  return /^[\x21-\x7e]{1,4000}$/.test(text);
}
