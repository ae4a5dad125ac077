export interface PortSetting {
  variable: string;
  port: number;
}

export function explainPortInUse<T>({ variable, port }: PortSetting, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) throw cause;
    const text = `port ${port} is in use. Stop the program that uses it, or set ${variable} to another port.`;
    throw new Error(text, { cause });
  }
}
