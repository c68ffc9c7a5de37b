/** The logo of the page: two speech shapes that lean on each other. */
export function Logo({ className = 'size-7' }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} aria-hidden="true">
      <rect width="32" height="32" rx="9" fill="var(--accent)" />
      <path
        d="M7 11.500A4.500 4.500 0 0 1 11.500 7h4A4.500 4.500 0 0 1 20 11.500v0a4.500 4.500 0 0 1-4.500 4.500H12l-3 2.400c-.4.300-.9.050-.9-.400v-3.200A4.500 4.500 0 0 1 7 11.500z"
        fill="var(--on-accent)"
      />
      <path
        d="M25 20.500a4.500 4.500 0 0 0-3.200-4.300A6.500 6.500 0 0 1 15.500 18h-2.900a4.500 4.500 0 0 0 4.400 7h3l3 2.400c.4.300.9.050.9-.400v-3.200a4.500 4.500 0 0 0 1.100-3.300z"
        fill="var(--on-accent)"
        opacity="0.55"
      />
    </svg>
  );
}
