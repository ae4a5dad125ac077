import type { Part } from './part.ts';

interface Family {
  head: string[];
  type: string;
  samples: Map<string, number>;
}

type Families = Map<string, Family>;

/** Values of a single process are meaningless as a sum. */
const isOfProcess = (name: string) => /^(process|nodejs)_/.test(name);
const grows = ({ type }: Family) => type === 'counter' || type === 'histogram';

/** Counts are sums, also of ended processes; values of a single process have the label `worker`. */
export function createMetricsSum() {
  const ended: Families = new Map();

  return {
    addEnded(text: string): void {
      add(ended, parse(text), (name, family) => (isOfProcess(name) || !grows(family) ? null : ''));
    },
    sum(texts: readonly { worker: number; text: string }[]): string {
      const all: Families = new Map();
      add(all, ended, () => '');
      for (const { worker, text } of texts)
        add(all, parse(text), (name) => (isOfProcess(name) ? `worker="${worker}"` : ''));
      return render(all);
    },
  };
}

function add(to: Families, more: Families, labelFor: (name: string, family: Family) => string | null): void {
  for (const [name, family] of more) {
    const label = labelFor(name, family);
    if (label === null) continue;
    const known = to.get(name) ?? { ...family, samples: new Map<string, number>() };
    to.set(name, known);
    for (const [sample, value] of family.samples) {
      const key = label === '' ? sample : withLabel(sample, label);
      known.samples.set(key, (known.samples.get(key) ?? 0) + value);
    }
  }
}

function withLabel(sample: string, label: string): string {
  const at = sample.indexOf('{');
  if (at < 0) return `${sample}{${label}}`;
  return `${sample.slice(0, at + 1)}${label}${sample[at + 1] === '}' ? '' : ','}${sample.slice(at + 1)}`;
}

function parse(text: string): Families {
  const families: Families = new Map();
  let current: Family | undefined;
  for (const line of text.split('\n')) {
    const meta = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (meta) {
      const [, kind, name = '', value = ''] = meta;
      current = families.get(name) ?? { head: [], type: '', samples: new Map() };
      families.set(name, current);
      current.head.push(line);
      if (kind === 'TYPE') current.type = value;
      continue;
    }
    // A label value may contain spaces.
    const at = line.lastIndexOf(' ');
    if (at > 0 && !line.startsWith('#')) current?.samples.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return families;
}

function render(families: Families): string {
  const lines = [...families.values()].flatMap(({ head, samples }) => [
    ...head,
    ...[...samples].map(([sample, value]) => `${sample} ${value}`),
  ]);
  return [...lines, ''].join('\n');
}

const answerMsMax = 2_000;

export function createWorkerMetrics(list: () => { number: number; part: Part }[]) {
  const { sum, addEnded } = createMetricsSum();
  /** Last report of each worker. Counts of a killed worker stay in the sum, so that no sum decreases. */
  const last = new Map<Part, string>();
  return {
    async read(): Promise<string> {
      await Promise.all(
        list().map(async ({ part }) => {
          const text = await part.readMetrics(answerMsMax);
          if (text !== null) last.set(part, text);
        }),
      );
      const workers = list();
      const texts = workers.flatMap(({ number: worker, part }) => {
        const text = last.get(part);
        return text === undefined ? [] : [{ worker, text }];
      });
      const count = new Set(workers.map(({ number }) => number)).size;
      return `${sum(texts)}# HELP svc_workers Server processes that share the port.\n# TYPE svc_workers gauge\nsvc_workers ${count}\n`;
    },
    onLast: (part: Part, text: string) => void last.set(part, text),
    onExit(part: Part): void {
      const text = last.get(part);
      last.delete(part);
      if (text !== undefined) addEnded(text);
    },
  };
}
