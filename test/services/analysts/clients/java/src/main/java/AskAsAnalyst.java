import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;

/** Connects with the URL of the driver's manual and nothing else, and does what DBeaver and Metabase do. */
public class AskAsAnalyst {
  public static void main(String[] words) throws SQLException {
    String url = "jdbc:clickhouse://" + words[0];
    try (Connection connection = DriverManager.getConnection(url, words[1], words[2])) {
      ask(connection, words[3]);
      describe(connection.getMetaData());
    }
  }

  private static void ask(Connection connection, String account) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      print("sum", texts(statement.executeQuery("SELECT sum(quantity) FROM events"), 1));
      print("rows", String.valueOf(texts(statement.executeQuery("SELECT event_id FROM events"), 1).size()));
      statement.setMaxRows(7);
      print("max rows", String.valueOf(texts(statement.executeQuery("SELECT event_id FROM events"), 1).size()));
      for (String query : List.of("USE default", "SHOW TABLES", "EXPLAIN SELECT count() FROM events"))
        statement.execute(query);
      try {
        statement.executeQuery("SELECT nothing");
      } catch (SQLException error) {
        print("error", String.valueOf(error.getErrorCode()));
      }
    }
    String prepared = "SELECT count() FROM events WHERE account_id = ? AND occurred_at >= ?";
    try (PreparedStatement statement = connection.prepareStatement(prepared)) {
      statement.setString(1, account);
      statement.setTimestamp(2, new Timestamp(0));
      print("prepared", texts(statement.executeQuery(), 1));
    }
  }

  private static void describe(DatabaseMetaData meta) throws SQLException {
    print("schemas", texts(meta.getSchemas(), "TABLE_SCHEM"));
    print("tables", texts(meta.getTables(null, null, "%", null), "TABLE_NAME"));
    print("columns", texts(meta.getColumns(null, null, "events", "%"), "COLUMN_NAME"));
    print("functions", texts(meta.getFunctions(null, null, "quantileExact"), "FUNCTION_NAME"));
    print("types", texts(meta.getTypeInfo(), "TYPE_NAME").contains("Decimal256") ? "Decimal256" : "");
    for (ResultSet empty :
        List.of(
            meta.getPrimaryKeys(null, null, "events"),
            meta.getImportedKeys(null, null, "events"),
            meta.getIndexInfo(null, null, "events", false, false))) print("keys", texts(empty, 1));
  }

  private static List<String> texts(ResultSet found, int column) throws SQLException {
    List<String> texts = new ArrayList<>();
    while (found.next()) texts.add(found.getString(column));
    return texts;
  }

  private static List<String> texts(ResultSet found, String column) throws SQLException {
    return texts(found, found.findColumn(column));
  }

  private static void print(String name, List<String> texts) {
    print(name, String.join(" ", texts));
  }

  private static void print(String name, String text) {
    System.out.println(name + "\t" + text);
  }
}
