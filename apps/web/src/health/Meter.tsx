/** How much of something is used or has passed, as a bar. */

interface MeterProps {
  /** From 0 to 1. */
  readonly share: number
  readonly label: string
  /** The value in words, for screen readers. */
  readonly words: string
  readonly kind: "passed" | "used"
}

const WIDTH = 100

/** The bar. */
export const Meter = ({ kind, label, share, words }: MeterProps) => (
  <div
    className={`meter ${kind}${kind === "used" && share >= 1 ? " full" : ""}`}
    role="meter"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={WIDTH}
    aria-valuenow={Math.round(share * WIDTH)}
    aria-valuetext={words}
  >
    <svg viewBox={`0 0 ${WIDTH} 1`} preserveAspectRatio="none" aria-hidden="true">
      <rect width={share * WIDTH} height="1" />
    </svg>
  </div>
)
