import { Notification, Transition } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react';

const shownMs = 5_000;
const TellContext = createContext<(text: string) => void>(() => {});

/** Says that something is done, in a corner, and to screen readers. */
export const useTell = () => useContext(TellContext);

export function Told({ children }: { children: ReactNode }) {
  const [said, setSaid] = useState<{ text: string; at: number } | null>(null);
  const tell = useCallback((text: string) => setSaid({ text, at: Date.now() }), []);
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(null), shownMs);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <TellContext.Provider value={tell}>
      {children}
      <output
        style={{
          position: 'fixed',
          insetInlineEnd: '1rem',
          insetBlockEnd: '1rem',
          zIndex: 500,
          maxWidth: '90vw',
        }}
      >
        <Transition mounted={said !== null} transition="slide-up">
          {(styles) => (
            <Notification
              style={styles}
              color="green"
              icon={<IconCheck size={18} aria-hidden />}
              withBorder
              onClose={() => setSaid(null)}
              closeButtonProps={{ 'aria-label': 'Dismiss' }}
            >
              {said?.text}
            </Notification>
          )}
        </Transition>
      </output>
    </TellContext.Provider>
  );
}
