import { Anchor, Breadcrumbs, Text } from '@mantine/core';
import { Link } from 'wouter';
import { crumbsOf } from './folder-paths.ts';

export const folderHref = (prefix: string) => `?${new URLSearchParams(prefix === '' ? {} : { prefix })}`;

export function FolderCrumbs({ prefix }: { prefix: string }) {
  const crumbs = [{ name: 'All files', prefix: '' }, ...crumbsOf(prefix)];
  return (
    <nav aria-label="Folders">
      <Breadcrumbs style={{ flexWrap: 'wrap' }}>
        {crumbs.map((crumb, at) =>
          at === crumbs.length - 1 ? (
            <Text key={crumb.prefix} aria-current="page" fw={600}>
              {crumb.name}
            </Text>
          ) : (
            <Anchor key={crumb.prefix} component={Link} href={folderHref(crumb.prefix)}>
              {crumb.name}
            </Anchor>
          ),
        )}
      </Breadcrumbs>
    </nav>
  );
}
