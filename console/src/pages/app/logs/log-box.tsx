import './log.css';
import { ActionIcon, Affix, Box, Button, Group, Switch, TextInput, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconArrowDown, IconCheck, IconCopy, IconDownload, IconSearch } from '@tabler/icons-react';
import { memo, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { saveText } from '../../../components/download.ts';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Hint } from '../../../components/text.tsx';
import { useUrlChoice, useUrlText } from '../../../components/url-state.ts';
import { ansiSpans, filterLines, type LogFilter, type LogLine, linesText, splitMatches } from './log-line.ts';
import type { Log } from './use-log.ts';

export function LogView({
  log,
  filter = { stream: 'all', since: null },
  fileName,
  notice,
  placeholder,
  children,
  ...box
}: {
  log: Log;
  filter?: Omit<LogFilter, 'words'>;
  fileName: string;
  label: string;
  live?: 'off' | 'polite';
  empty: string;
  notice?: ReactNode;
  placeholder?: ReactNode;
  children?: ReactNode;
}) {
  const [words, setWords] = useUrlText('q');
  const [wrap, setWrap] = useUrlChoice('wrap', 'yes', ['yes', 'no']);
  const clipboard = useClipboard();
  const visible = filterLines(log.lines, { words, ...filter });
  const total = log.lines.length;
  return (
    <>
      <Group gap="sm" align="flex-end">
        <TextInput
          label="Search"
          placeholder="Words to find"
          type="search"
          leftSection={<IconSearch size={16} aria-hidden />}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
          style={{ flex: '1 1 12rem' }}
        />
        {children}
        <Group gap="sm" h={36}>
          <Switch
            label="Wrap lines"
            checked={wrap === 'yes'}
            onChange={(event) => setWrap(event.currentTarget.checked ? 'yes' : 'no')}
          />
          <Tooltip label={clipboard.copied ? 'Copied' : 'Copy lines'}>
            <ActionIcon
              variant="default"
              size="lg"
              aria-label="Copy lines"
              onClick={() => clipboard.copy(linesText(visible))}
            >
              {clipboard.copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Download lines">
            <ActionIcon
              variant="default"
              size="lg"
              aria-label="Download lines"
              onClick={() => saveText(fileName, linesText(visible))}
            >
              <IconDownload size={16} aria-hidden />
            </ActionIcon>
          </Tooltip>
          <Hint>
            {visible.length === total
              ? `${total.toLocaleString('en')} lines`
              : `${visible.length.toLocaleString('en')} of ${total.toLocaleString('en')} lines`}
          </Hint>
        </Group>
      </Group>
      {notice}
      <ProblemAlert error={log.problem} retry={log.retry} />
      {placeholder || <LogBox {...box} lines={visible} words={words} isWrapped={wrap === 'yes'} />}
    </>
  );
}

const nearPixels = 40;

function LogBox({
  lines,
  words,
  label,
  isWrapped,
  live = 'off',
  empty,
}: {
  lines: readonly LogLine[];
  words: string;
  label: string;
  isWrapped: boolean;
  live?: 'off' | 'polite';
  empty: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);

  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll again whenever the lines or their wrapping change.
  useLayoutEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, isFollowing, isWrapped]);

  return (
    <Box pos="relative">
      <div
        ref={box}
        className={`log ${isWrapped ? 'log-wrapped' : ''}`}
        style={{ height: 'clamp(16rem, 62vh, 60rem)' }}
        role="log"
        aria-label={label}
        aria-live={live}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard.
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setFollowing(scrollHeight - scrollTop - clientHeight < nearPixels)
        }
      >
        {lines.length === 0 ? (
          <Hint px="sm">{empty}</Hint>
        ) : (
          lines.map((line) => <LogRow key={line.number} line={line} words={words} />)
        )}
      </div>
      {!isFollowing && (
        <Affix withinPortal={false} position={{ bottom: 12, right: 20 }} style={{ position: 'absolute' }}>
          <Button
            size="compact-sm"
            leftSection={<IconArrowDown size={14} aria-hidden />}
            onClick={() => setFollowing(true)}
          >
            Scroll to end
          </Button>
        </Affix>
      )}
    </Box>
  );
}

/** Memoized: existing lines never change. */
const LogRow = memo(function LogRow({ line, words }: { line: LogLine; words: string }) {
  return (
    <div className="log-row" data-stream={line.stream}>
      <time dateTime={line.time} title={new Date(line.time).toLocaleString()}>
        {clock(line.time)}
      </time>
      {line.process !== null && line.deployment !== null && (
        <span className="log-stream">#{line.deployment}</span>
      )}
      {line.process !== null && line.process !== 'web' && <span className="log-stream">{line.process}</span>}
      {line.stream !== 'stdout' && <span className="log-stream">{line.stream}</span>}
      <span>
        {ansiSpans(line.text).map(({ text, color, isBold }, at) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line never change.
            key={at}
            style={{
              ...(color && { color: `var(--log-${color})` }),
              ...(isBold && { fontWeight: 700 }),
            }}
          >
            {splitMatches(text, words).map((piece, position) =>
              // biome-ignore lint/suspicious/noArrayIndexKey: the matches of a line keep their order.
              position % 2 === 1 ? <mark key={position}>{piece}</mark> : piece,
            )}
          </span>
        ))}
      </span>
    </div>
  );
});

function clock(time: string): string {
  const at = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
