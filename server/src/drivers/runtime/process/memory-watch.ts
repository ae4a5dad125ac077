import { type ProcessRow, proportionalBytes, readProcessTable, treeOf } from './process-table.ts';

/** Looks every second at what instances and builds use. */
export interface MemoryWatch {
  add(watched: Watched): { stop(): void };
  close(): void;
}

export interface Watched {
  leader: number;
  /** Null where Linux itself holds them to it. */
  bytesMax: number | null;
  onTooMuch: () => void;
  onUse: (use: Use) => void;
}

export interface Use {
  cpuMs: number;
  memoryBytes: number;
}

const everyMs = 1_000;

export function createMemoryWatch(): MemoryWatch {
  const all = new Set<Watched>();
  let timer: Timer | undefined;

  function look(): void {
    const table = readProcessTable();
    for (const { leader, bytesMax, onTooMuch, onUse } of [...all]) {
      const tree = treeOf(leader, table);
      const use = useOf(tree);
      onUse(use);
      if (bytesMax !== null && isAbove(bytesMax, use, tree)) onTooMuch();
    }
  }

  function rest(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    add(watched) {
      all.add(watched);
      timer ??= setInterval(look, everyMs);
      return {
        stop() {
          all.delete(watched);
          if (all.size === 0) rest();
        },
      };
    },
    close() {
      all.clear();
      rest();
    },
  };
}

export function useOf(tree: readonly ProcessRow[]): Use {
  return {
    cpuMs: tree.reduce((sum, row) => sum + row.cpuMs, 0),
    memoryBytes: tree.reduce((sum, row) => sum + row.residentBytes, 0),
  };
}

/** What processes share is counted for each of them at first, and exactly only where that would be too much. */
function isAbove(bytesMax: number, use: Use, tree: readonly ProcessRow[]): boolean {
  return use.memoryBytes > bytesMax && proportionalBytes(tree) > bytesMax;
}
