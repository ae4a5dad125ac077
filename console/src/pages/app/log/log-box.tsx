import './log.css';
import { Affix, Box, Button, Text } from '@mantine/core';
import { IconArrowDown } from '@tabler/icons-react';
import { useLayoutEffect, useRef, useState } from 'react';
import type { KeptLine } from './log-line.ts';
import { LogRow } from './log-row.tsx';

/** Nearer to the end than this is at the end. */
const nearPixels = 40;

/** Lines in a box of their own, which stays at its end until one scrolls away from it. */
export function LogBox({
  lines,
  words,
  label,
  isWrapped,
  live = 'off',
  empty,
}: {
  lines: readonly KeptLine[];
  words: string;
  label: string;
  isWrapped: boolean;
  /** Whether a screen reader says new lines by itself. */
  live?: 'off' | 'polite';
  /** Said where there are none. */
  empty: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);

  // biome-ignore lint/correctness/useExhaustiveDependencies: more lines, or other ones, have another end.
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
        // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it as well.
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setFollowing(scrollHeight - scrollTop - clientHeight < nearPixels)
        }
      >
        {lines.length === 0 ? (
          <Text size="sm" c="dimmed" px="sm">
            {empty}
          </Text>
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
            To the end
          </Button>
        </Affix>
      )}
    </Box>
  );
}
