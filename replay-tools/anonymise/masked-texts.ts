import { type Masks, maskOf, textMask } from '../../services/chassis/telemetry/masks.ts';
import { Pseudonyms } from './pseudonyms.ts';

/** Every name stays; of texts what the masks cover goes. Ids of records that hold such texts are other ones then. */
export class MaskedTexts extends Pseudonyms {
  private readonly mask: (text: string) => string;
  private readonly fields: ReadonlySet<string>;

  constructor(masks: Masks) {
    super('');
    this.mask = textMask(masks);
    this.fields = new Set(masks.fields);
  }

  override hex(text: string, _length: number): string {
    return text;
  }

  override text(text: string): string {
    return this.mask(this.id(text));
  }

  override inMember(text: string, member: string): string {
    return this.fields.has(member.toLowerCase()) ? maskOf(member) : this.text(text);
  }

  protected override tokenOf(whole: string, _prefix: string): string {
    return this.records.get(whole) ?? whole;
  }
}
