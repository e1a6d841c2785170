/** A simulation as it is answered. */
export interface SimulationBody {
  data: SimulatedAccountBody[]
  has_more: boolean
  currency: string
  usage_as_of: number
  totals?: {
    accounts: number
    baseline: string
    candidate: string
    difference: string
    increased: number
    decreased: number
    unchanged: number
    quantiles: Record<'p5' | 'p25' | 'p50' | 'p75' | 'p95', string>
    largest: { increases: SimulatedAccountBody[]; decreases: SimulatedAccountBody[] }
    in_other_currencies: number
  }
}

interface SimulatedAccountBody {
  account_id: string
  baseline: string
  candidate: string
  difference: string
  lines?: SimulatedLineBody[]
}

interface SimulatedLineBody {
  side: 'baseline' | 'candidate'
  contract_line_id: string | null
  rate_id: string
  price: { id: string }
  start_at: number
  end_at: number
  value: string | null
  quantity: string
  discount_percent: string
  share: { seconds: number; of: number }
  amount: string
  query: string | null
}
