/** How an analyst connects. */
export interface Connection {
  company: string
  user: string
  password: string
  /** Host and port as in a URL. */
  address: string
}

/** What an analyst's tools are set up with, as lines: for JDBC, and for Grafana's ClickHouse data source. */
export function connectionBlocks({ company, user, password, address }: Connection): string[] {
  const { hostname, port } = new URL(`http://${address}`)
  return [
    `user      ${user}`,
    `password  ${password}`,
    `url       http://${address}`,
    '',
    'JDBC (DBeaver, Metabase, Tableau):',
    `  jdbc:clickhouse://${address}/default`,
    `  user=${user}`,
    `  password=${password}`,
    '',
    'Grafana (provisioning/datasources/tally.yaml):',
    '  apiVersion: 1',
    '  datasources:',
    `    - name: ${JSON.stringify(`Tally ${company}`)}`,
    '      type: grafana-clickhouse-datasource',
    '      jsonData:',
    '        protocol: http',
    `        host: ${JSON.stringify(hostname.replace(/^\[(.*)\]$/, '$1'))}`,
    `        port: ${port}`,
    `        username: ${JSON.stringify(user)}`,
    '        defaultDatabase: default',
    '      secureJsonData:',
    `        password: ${JSON.stringify(password)}`,
  ]
}
