import { celsius, money, number } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { fields, type ToolPart, toolName } from './tool-part.ts';

/** What a call gave, as people say it; nothing where the answer of the assistant says enough. */
export function ToolResult({
  part,
  isBrief = false,
  className = '',
}: {
  part: ToolPart;
  /** Whether what was asked for stands above already. */
  isBrief?: boolean;
  className?: string;
}) {
  const output = fields(part.output);
  switch (toolName(part)) {
    case 'get_weather':
      return <Weather output={output} className={className} />;
    case 'process_payment':
      return <Receipt output={output} isBrief={isBrief} className={className} />;
    case 'get_location':
      return <Position output={output} className={className} />;
    case 'change_bgm':
      return <Track output={output} className={className} />;
    default:
      return null;
  }
}

type Shown = { output: Readonly<Record<string, unknown>>; className: string };

function Weather({ output, className }: Shown) {
  const { messages, language } = useLanguage();
  const { weather } = messages.tools;
  const { location, temperature, condition, humidity, sample } = output;
  if (typeof temperature !== 'number') return null;
  return (
    <div className={`flex flex-wrap items-baseline gap-x-4 gap-y-1 ${className}`}>
      <span className="text-3xl font-light tabular-nums">{celsius(temperature, language)}</span>
      <span className="text-sm">
        <span className="font-medium">{String(location ?? '')}</span>
        <span className="text-soft">
          {' · '}
          {weather.conditions[String(condition)] ?? String(condition ?? '')}
          {typeof humidity === 'number' ? ` · ${weather.humidity(`${number(humidity, language)} %`)}` : ''}
        </span>
      </span>
      {sample === true ? (
        <span className="rounded-full border border-line px-2 py-0.5 text-xs text-soft">
          {weather.sample}
        </span>
      ) : null}
    </div>
  );
}

function Receipt({ output, isBrief, className }: Shown & { isBrief: boolean }) {
  const { messages, language } = useLanguage();
  const { payment } = messages.tools;
  const { amount, currency, recipient, wallet_balance: balance, transaction_id: transaction } = output;
  if (typeof amount !== 'number') return null;
  const unit = typeof currency === 'string' ? currency : 'USD';
  return (
    <div className={`flex flex-wrap gap-x-4 gap-y-1 text-sm text-soft ${className}`}>
      {isBrief ? null : <span>{payment.sent(money(amount, unit, language), String(recipient ?? ''))}</span>}
      {typeof balance === 'number' ? <span>{payment.balance(money(balance, unit, language))}</span> : null}
      {typeof transaction === 'string' ? (
        <span>
          {payment.transaction} <code className="font-mono text-xs">{transaction}</code>
        </span>
      ) : null}
    </div>
  );
}

function Position({ output, className }: Shown) {
  const { messages, language } = useLanguage();
  const { latitude, longitude, accuracy } = output;
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return null;
  const side = (value: number, letters: [string, string]) =>
    `${number(Math.abs(value), language, 4)}° ${value < 0 ? letters[1] : letters[0]}`;
  return (
    <p className={`text-sm text-soft tabular-nums ${className}`}>
      {side(latitude, ['N', 'S'])}, {side(longitude, ['E', 'W'])}
      {typeof accuracy === 'number'
        ? ` · ${messages.tools.location.accuracy(number(accuracy, language))}`
        : ''}
    </p>
  );
}

function Track({ output, className }: Shown) {
  const { music, tools } = useLanguage().messages;
  const { track } = output;
  if (track !== 1 && track !== 2) return null;
  return <p className={`text-sm text-soft ${className}`}>{tools.music.playing(music.tracks[track])}</p>;
}
