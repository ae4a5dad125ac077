import type { Metadata } from 'next';
import type { ReactNode } from 'react';
import { settings } from './settings.ts';
import './style.css';

export const metadata: Metadata = { title: settings.name, icons: '/icon.svg' };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <div className="page">{children}</div>
      </body>
    </html>
  );
}
