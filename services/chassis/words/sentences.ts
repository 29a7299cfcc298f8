/** What was wrong, and what to do, as sentences that people read one after the other. */
export function sentences(message: string, fix?: string): string {
  if (fix === undefined) return message;
  return /[.!?…]["”’)]?$/.test(message) ? `${message} ${fix}` : `${message}. ${fix}`;
}
