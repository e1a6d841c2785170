// Asks what Grafana's data source for ClickHouse asks when a dashboard is opened: over HTTP, with the driver and the
// options of the data source. Prints a line for each question: its kind, its name, rows and milliseconds.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, user, password, file string) error {
	if err := checkMacros(); err != nil {
		return err
	}
	whole, err := readDashboard(file)
	if err != nil {
		return err
	}
	db := clickhouse.OpenDB(&clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{address},
		Auth:        clickhouse.Auth{Database: "default", Username: user, Password: password},
		ClientInfo:  clickhouse.ClientInfo{Products: []struct{ Name, Version string }{{"grafana", "12.0.0"}}},
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionGZIP},
		DialTimeout: 10 * time.Second,
		ReadTimeout: 60 * time.Second,
		Settings:    clickhouse.Settings{"limit": 1_000_000},
	})
	defer db.Close()
	db.SetMaxOpenConns(50)
	db.SetMaxIdleConns(25)
	for _, step := range []func(*sql.DB, dashboard) error{checkHealth, readSchema, openDashboard} {
		if err := step(db, whole); err != nil {
			return err
		}
	}
	return nil
}

func checkHealth(db *sql.DB, _ dashboard) error {
	if err := db.Ping(); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	for _, statement := range []string{"SELECT 1", "SELECT version()"} {
		if _, err := ask(db, "health", statement, statement); err != nil {
			return err
		}
	}
	return nil
}

func readSchema(db *sql.DB, _ dashboard) error {
	var database string
	if err := db.QueryRow("SELECT currentDatabase()").Scan(&database); err != nil {
		return err
	}
	for _, statement := range []string{
		"SHOW DATABASES",
		fmt.Sprintf("SHOW TABLES FROM %q", database),
		fmt.Sprintf("DESC TABLE %q.%q", database, "events"),
		"SELECT name FROM system.functions",
		"SELECT database, name FROM system.tables ORDER BY database, name",
		"SELECT name, database, table FROM system.columns",
		fmt.Sprintf("SELECT name, type, table FROM system.columns WHERE database IN ('%s')", database),
		"SELECT database, table, name, type, comment FROM system.columns WHERE (database = currentDatabase() " +
			"AND table IN ('events')) ORDER BY database, table, position",
		fmt.Sprintf("select distinct metric_id from %s.daily_totals limit 1000", database),
		"SELECT DISTINCT currency FROM daily_totals SETTINGS max_execution_time=10",
		"EXPLAIN SELECT count() FROM events",
	} {
		if _, err := ask(db, "schema", statement, statement); err != nil {
			return err
		}
	}
	return nil
}

func openDashboard(db *sql.DB, whole dashboard) error {
	values := map[string]string{}
	for _, variable := range whole.Templating.List {
		if variable.Type != "query" {
			continue
		}
		statement, err := fillIn(variable.Query, values)
		if err != nil {
			return fmt.Errorf("variable %s: %w", variable.Name, err)
		}
		options, err := ask(db, "variable", variable.Name, statement)
		if err != nil {
			return err
		}
		if len(options) > 0 { // The first column has the values, the second what is shown. The first option is chosen.
			values[variable.Name] = fmt.Sprint(options[0][0])
		}
	}
	statements, err := statementsOf(whole, values)
	if err != nil {
		return err
	}
	for _, one := range statements {
		rows, err := ask(db, "panel", one.title, one.sql)
		if err != nil {
			return err
		}
		if one.isSeries {
			if err := checkSeries(rows); err != nil {
				return fmt.Errorf("panel %s: %w", one.title, err)
			}
		}
	}
	if err := filterAdHoc(db, statements); err != nil {
		return err
	}
	return askAllAtOnce(db, statements)
}

type statement struct {
	title, sql string
	isSeries   bool
}

func statementsOf(whole dashboard, values map[string]string) ([]statement, error) {
	now := time.Now().UTC()
	var statements []statement
	for _, shown := range whole.Panels {
		for _, target := range shown.Targets {
			over, err := shown.rangeOf(whole, now)
			if err != nil {
				return nil, fmt.Errorf("panel %s: %w", shown.Title, err)
			}
			filled, err := fillIn(target.RawSQL, values)
			if err != nil {
				return nil, fmt.Errorf("panel %s: %w", shown.Title, err)
			}
			expanded, err := expandMacros(filled, over)
			if err != nil {
				return nil, fmt.Errorf("panel %s: %w", shown.Title, err)
			}
			statements = append(statements, statement{shown.Title, expanded, target.Format == 0})
		}
	}
	return statements, nil
}

// filterAdHoc adds filters to a panel as the data source does: one that keeps all, and one that keeps nothing.
func filterAdHoc(db *sql.DB, statements []statement) error {
	for _, one := range statements {
		if one.title != "Usage of $metric by day" {
			continue
		}
		for _, condition := range []string{"events > \\'0\\'", "events < \\'0\\'"} {
			filtered := fmt.Sprintf("%s settings additional_table_filters={'daily_totals' : ' %s '}", one.sql, condition)
			if _, err := ask(db, "filter", condition, filtered); err != nil {
				return err
			}
		}
	}
	return nil
}

// askAllAtOnce is what a browser does: none may be refused because others are there.
func askAllAtOnce(db *sql.DB, statements []statement) error {
	startedAt := time.Now()
	failures := make([]error, len(statements))
	var all sync.WaitGroup
	for at, one := range statements {
		all.Go(func() { _, failures[at] = read(db, one.sql) })
	}
	all.Wait()
	for at, err := range failures {
		if err != nil {
			return fmt.Errorf("all at once, %s: %w", statements[at].title, err)
		}
	}
	fmt.Printf("all at once\tpanels\t%d\t%d\n", len(statements), time.Since(startedAt).Milliseconds())
	return nil
}

// checkSeries fails for rows of which the data source makes no time series: the first column is an ascending time.
func checkSeries(rows [][]any) error {
	var last time.Time
	for _, row := range rows {
		at, isTime := row[0].(time.Time)
		if !isTime || at.Before(last) {
			return fmt.Errorf("%v is no time after %v", row[0], last)
		}
		if len(row) < 2 {
			return fmt.Errorf("there is nothing beside the time")
		}
		last = at
	}
	return nil
}

func ask(db *sql.DB, kind, name, text string) ([][]any, error) {
	startedAt := time.Now()
	rows, err := read(db, text)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", kind, name, err, text)
	}
	fmt.Printf("%s\t%s\t%d\t%d\n", kind, name, len(rows), time.Since(startedAt).Milliseconds())
	return rows, nil
}

func read(db *sql.DB, text string) ([][]any, error) {
	rows, err := db.QueryContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var all [][]any
	for rows.Next() {
		targets := make([]any, len(types))
		for at, one := range types {
			targets[at] = reflect.New(one.ScanType()).Interface()
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		for at, target := range targets {
			targets[at] = valueOf(reflect.ValueOf(target).Elem())
		}
		all = append(all, targets)
	}
	return all, rows.Err()
}

// valueOf is nil for NULL. Columns that may be NULL are read as pointers.
func valueOf(column reflect.Value) any {
	if column.Kind() != reflect.Pointer {
		return column.Interface()
	}
	if column.IsNil() {
		return nil
	}
	return column.Elem().Interface()
}
