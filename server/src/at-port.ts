export interface PortOf {
  /** The environment variable that says it. */
  variable: string;
  port: number;
}

/** Opens a listener; where its port is taken, it is told which setting moves it. */
export function atPort<T>({ variable, port }: PortOf, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) throw cause;
    throw new Error(`port ${port} is in use. Stop what listens there, or set ${variable} to another port.`, {
      cause,
    });
  }
}
