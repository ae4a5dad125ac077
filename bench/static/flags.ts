export function flag(name: string, otherwise: number): number {
  return Number(wordFlag(name) ?? otherwise);
}

export function wordFlag(name: string): string | null {
  return process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3) ?? null;
}
