/** Where the images of all apps are named; nobody answers there. */
export const ownPlace = 'localhost:1/';

/**
 * Why an app may not take an image by this name; null: it may. Ids are refused however short: an engine takes the first
 * letters of one for the whole, and so the image of any app could be had by trying.
 */
export function reasonAgainstImage(name: string): string | null {
  if (name.toLowerCase().startsWith(ownPlace)) return 'is a name of the platform’s own';
  if (/^[0-9a-f]{1,64}$/i.test(name) || /^[a-z0-9]+:[0-9a-f]{64}$|^sha\d+:/i.test(name))
    return 'could be the id of an image: name it with its tag';
  return null;
}
