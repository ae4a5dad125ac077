import { Notification, Transition } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react';

const toastMs = 5_000;
const ToastContext = createContext<(text: string) => void>(() => {});

export const useToast = () => useContext(ToastContext);

export function Toasts({ children }: { children: ReactNode }) {
  const [toast, setToast] = useState<{ text: string; at: number } | null>(null);
  const show = useCallback((text: string) => setToast({ text, at: Date.now() }), []);
  useEffect(() => {
    if (!toast) return;
    const timer = setTimeout(() => setToast(null), toastMs);
    return () => clearTimeout(timer);
  }, [toast]);
  return (
    <ToastContext.Provider value={show}>
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
        <Transition mounted={toast !== null} transition="slide-up">
          {(styles) => (
            <Notification
              style={styles}
              color="green"
              icon={<IconCheck size={18} aria-hidden />}
              withBorder
              onClose={() => setToast(null)}
              closeButtonProps={{ 'aria-label': 'Dismiss' }}
            >
              {toast?.text}
            </Notification>
          )}
        </Transition>
      </output>
    </ToastContext.Provider>
  );
}
