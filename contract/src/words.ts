/** A list of words, separated by spaces and line ends. */
export const words = (text: string): readonly string[] => text.trim().split(/\s+/);
