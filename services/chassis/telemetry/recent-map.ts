/** A map that forgets its oldest member where it would hold more than so many. */
export class RecentMap<T> {
  private readonly members = new Map<string, T>();
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  get size(): number {
    return this.members.size;
  }

  get(key: string): T | undefined {
    return this.members.get(key);
  }

  set(key: string, value: T): void {
    if (!this.members.has(key) && this.members.size >= this.most) {
      const oldest = this.members.keys().next().value;
      if (oldest !== undefined) this.members.delete(oldest);
    }
    this.members.set(key, value);
  }

  delete(key: string): void {
    this.members.delete(key);
  }
}
